"""What stands outside the processor: Postgres, Kafka, Kafka Connect, and the receivers of webhooks."""
