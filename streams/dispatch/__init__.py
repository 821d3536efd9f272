"""Dispatch: from a received record to one attempt per (event, target), and on to its next hop.

`dispatcher` is the way through; `target_queue` keeps order per key and the limit per target; `directory`
knows who wants which event; `handler_target` and `endpoint_target` make the attempts; `hops` writes what
follows.
"""
