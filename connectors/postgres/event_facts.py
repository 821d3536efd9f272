"""What is known of an event when it is asked whether it is accounted for: bits, so that Postgres can count them.

Place in the data's way: between the statements of `connectors.postgres.reconciliation`, which find them, and the
verdict of `streams.verify`, which says what they amount to. Must not: judge.
"""

from __future__ import annotations

from enum import IntFlag

__all__ = ["Fact"]


class Fact(IntFlag):
    """One bit each; of an event any of them may hold."""

    HAS_ROW = 1
    """Its row is in `outbox.outbox`."""
    ON_KAFKA = 2
    """A record of it is on `outbox.events`."""
    IN_FLIGHT = 4
    """Such a record is beyond what the workers have committed."""
    UNWANTED = 8
    """Nobody need want it: nobody is subscribed, and that is no failure here, or payload filters leave it out."""
    EXPECTED = 16
    """A target that has been the same since before the event wants its type."""
    TARGET_MISSING = 32
    """Of such targets, one has no delivery."""
    SUCCEEDED = 64
    """A delivery of it has succeeded, by the log; so below."""
    CANCELLED = 128
    BURIED = 256
    """A delivery of it is a dead letter, and the letter is there."""
    WAITS = 512
    """A delivery of it waits, and its record does so on Kafka."""
    WAIT_LOST = 1024
    """The log says that a delivery waits, and no record of it is on Kafka."""
    LETTER_LOST = 2048
    """The log says that a delivery is a dead letter, and there is none."""
    WHOLE_LETTER = 4096
    """The event itself is a dead letter: nobody wanted it, or it could not be read."""
    ROUTED_AGAIN = 8192
    """It waits on `outbox.redelivery` for a target without a delivery: a replay sent it, or redrove such a letter."""
