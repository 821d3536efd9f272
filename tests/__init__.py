"""The tests, by what they need: nothing (unit), one service (integration), everything (acceptance, faults)."""
