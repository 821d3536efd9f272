-- Loses the record of who changed what.
drop table if exists outbox.audit;
