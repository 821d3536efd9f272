"""Webhooks: signing a request, sending it, and judging the answer."""
