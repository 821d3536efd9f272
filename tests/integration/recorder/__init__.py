"""The worker's consuming side on real Kafka."""
