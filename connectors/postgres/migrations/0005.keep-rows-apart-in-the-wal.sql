-- depends: 0001.create-outbox-table
-- One WAL record a row. COPY writes a page full of rows as one record when nothing needs to look at single rows, and
-- then all of them have the same position. Debezium (3.6.1, tried: 24 of 6,000 rows lost) resumes after a position, not
-- after a row: killed in the middle of such a record, it passes over the rest. A row trigger, whatever it does, makes
-- COPY write row by row. WHEN (false): it is never called.
-- tests/faults/test_connector_killed.py copies, kills and counts.

create or replace function outbox.never_called() returns trigger language plpgsql as $function$
begin
    return new;
end
$function$;

create or replace trigger one_wal_record_a_row before insert on outbox.outbox
    for each row when (false) execute function outbox.never_called();

comment on trigger one_wal_record_a_row on outbox.outbox is
    'Keeps COPY from giving several rows one WAL position, which a restarted connector would skip. Do not drop.';
