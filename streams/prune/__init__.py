"""Retention of the outbox table: old rows go once the replication slot has confirmed them (docs/adr/0024).

`refusal` says when nothing may go, `pruned` what came of a run, and `pruning` does it.
"""

from streams.prune.pruned import Pruned
from streams.prune.pruning import Clock, prune

__all__ = ["Clock", "Pruned", "prune"]
