-- Loses the endpoints; the workers keep those that they know.
drop table if exists outbox.endpoints;
