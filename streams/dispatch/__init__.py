"""Dispatch: from a received record to one attempt per (event, target), and on to its next hop.

`dispatcher` is the way through; `target_queue` keeps order per key and the limit per target, and `watch` looks after
those that wait; `endpoint_gate`, with `circuit` and `rate_limit`, says when an attempt may begin, and `share` how much
of a limit is this worker's; `directory` knows who wants which event; `handler_target` and `endpoint_target` make the
attempts; `settlement` and `burial` end things, and `hops` writes what follows; `flood_guard` sees when much dies at
once, and `holding` lets it wait; `tenure` asks whether the partitions are still ours.
"""
