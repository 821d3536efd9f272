"""Kafka Connect: the REST side of the Debezium connector."""
