-- Forgets that rows may be there which were never sent.
drop table if exists outbox.capture_gaps;
