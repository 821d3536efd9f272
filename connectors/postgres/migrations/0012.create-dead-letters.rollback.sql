-- Loses what was redriven or discarded; of what Kafka still has, a recorder of a new group would add the rows again, open.
drop table if exists outbox.dead_letters;
