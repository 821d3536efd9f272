-- Lets a restarted connector lose rows that were written with COPY.
drop trigger if exists one_wal_record_a_row on outbox.outbox;
drop function if exists outbox.never_called();
