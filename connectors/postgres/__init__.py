"""Postgres: the schema of the outbox, and the endpoints that are kept in it."""
