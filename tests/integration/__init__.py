"""Tests against one real service or real sockets."""
