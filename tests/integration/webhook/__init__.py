"""The sender against real sockets, on both event loops."""
