"""Tests of pure code: no network, no files."""
