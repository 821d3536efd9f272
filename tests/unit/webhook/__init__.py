"""Tests of the webhook connector's pure parts."""
