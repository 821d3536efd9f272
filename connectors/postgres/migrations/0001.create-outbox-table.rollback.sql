-- Loses rows that Debezium has not read yet.
drop table if exists outbox.outbox;
