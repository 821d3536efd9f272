-- Loses which replays there were, and ends those under way.
drop table if exists outbox.replays;
