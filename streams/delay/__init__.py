"""The scheduler process: it moves records out of the delay tiers when they are due, and not before (INV-3)."""
