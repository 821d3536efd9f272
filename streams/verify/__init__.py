"""Reconciliation: is every committed event delivered, waiting or a dead letter? (INV-1, docs/adr/0023)."""
