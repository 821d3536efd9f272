"""Measurements: run by hand or by `make bench`, never asserted in tests."""
