"""Kafka Connect: installing Debezium's connector, asking after it, restarting it when it failed."""
