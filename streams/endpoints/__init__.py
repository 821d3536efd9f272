"""The endpoints as a worker knows them: all of them in memory, fed by `outbox.endpoints`, without a query (INV-10)."""
