"""The embedded local stack: Postgres, Kafka and Kafka Connect as child processes, without root or Docker."""
