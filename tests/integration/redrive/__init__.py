"""Redriving dead letters: from the request to the receiver, with the processes that a redrive may lose on its way."""
