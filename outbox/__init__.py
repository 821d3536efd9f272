"""What an application imports: append to the outbox, register handlers."""
