"""The recorder: attempt records from Kafka into the delivery log in Postgres. Nothing that delivers knows of it."""
