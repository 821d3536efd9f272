"""Kafka: producing with acknowledgement, and administering topics."""
