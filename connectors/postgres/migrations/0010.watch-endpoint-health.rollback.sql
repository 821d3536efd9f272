-- Loses what is known of endpoints' health, and why they were disabled. outbox.append goes on refusing the reserved types.
drop table if exists outbox.endpoint_health;
