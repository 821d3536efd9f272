"""The worker process: Faust agents on `outbox.events` and `outbox.redelivery`, and everything they need around them."""
