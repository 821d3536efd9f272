"""The command line, `outbox`: one module a command."""
