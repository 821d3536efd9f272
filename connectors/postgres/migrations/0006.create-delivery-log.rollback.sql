-- Loses the delivery log; of what Kafka still has in outbox.attempts a recorder of a new group would write it again.
drop table if exists outbox.attempts;
drop table if exists outbox.deliveries;
