"""What can go wrong in the processor, outside of a delivery (a delivery's failure is an outcome, not an exception).

    StreamsError
    ├── SettingsError      one or more settings are wrong; the message lists all of them
    ├── SetupError         the environment can't be brought to the wanted state; says what to do
    ├── RecordMalformed    a Kafka record can't be read as an event or a delivery; it goes to the dead letters
    ├── WorkerFailed       the worker can't go on (a fatal producer error, Faust crashed); it exits and is restarted
    ├── SchedulerFailed    the same for the scheduler
    ├── RecorderFailed     the same for the recorder
    ├── ResetRefused       offsets that can't be reset as it was asked for; says why
    ├── PruneRefused       rows of the outbox may be the only copy of an event; says why
    ├── ReplayRefused      a replay that can't be made as it was asked for; says why
    │   └── EventGone      its event is no longer on Kafka
    ├── VerificationRefused  a verification that can't be made as it was asked for; says why
    └── VerificationBehind  one for which the delivery log is not complete yet

A message says what happened, to what, and what to do next; never a secret, never a payload.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "EventGone",
    "PruneRefused",
    "RecordMalformed",
    "RecorderFailed",
    "ReplayRefused",
    "ResetRefused",
    "SchedulerFailed",
    "SettingsError",
    "SetupError",
    "StreamsError",
    "VerificationBehind",
    "VerificationRefused",
    "WorkerFailed",
]


class StreamsError(Exception):
    """The processor could not go on."""


class SettingsError(StreamsError):
    """Settings are wrong: every one of them is named, with what was given and what is accepted."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = "1 setting is" if len(self.problems) == 1 else f"{len(self.problems)} settings are"
        super().__init__("\n".join([f"{count} wrong:", *(f"  {problem}" for problem in self.problems)]))


class SetupError(StreamsError):
    """Setup stopped: what it found can't be put right by it."""


class RecordMalformed(StreamsError):  # noqa: N818 - it describes the record; nothing went wrong here
    """A record can't be read; the message says which part of it, never the payload."""


class WorkerFailed(StreamsError):  # noqa: N818 - as it reads in the log
    """The worker stopped because it can't keep its promises; restart it."""


class SchedulerFailed(StreamsError):  # noqa: N818 - as WorkerFailed
    """The scheduler stopped because it can't keep its promises; restart it."""


class RecorderFailed(StreamsError):  # noqa: N818 - as WorkerFailed
    """The recorder stopped because it can't go on reading; restart it."""


class ResetRefused(StreamsError):  # noqa: N818 - it describes the request
    """Offsets can't be reset as it was asked for; the message says why, and nothing was changed."""


class PruneRefused(StreamsError):  # noqa: N818 - it describes the request
    """No row of the outbox is deleted: events in it may be nowhere else; the message says why, and what to do."""


class ReplayRefused(StreamsError):  # noqa: N818 - it describes the request
    """A replay can't be made as it was asked for; the message says why, and what to do."""


class EventGone(ReplayRefused):
    """Kafka no longer has the event that is to be sent again."""


class VerificationBehind(StreamsError):  # noqa: N818 - it describes the log; nothing went wrong
    """The delivery log is not complete yet for what is to be verified."""


class VerificationRefused(StreamsError):  # noqa: N818 - as ReplayRefused
    """A verification can't be made as it was asked for; the message says why, and what to do."""
