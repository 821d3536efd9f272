"""The recorder on real Kafka and Postgres."""
