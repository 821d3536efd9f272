"""The log: structured lines, one per attempt, with the glossary's names as fields.

structlog writes; what libraries say through the standard library's logging goes the same way. Never a
payload, a secret or a URL (INV-9): fields are named one by one where they are logged, and records are never
logged whole.
"""

import logging
import os
import sys
from typing import TYPE_CHECKING, Literal

import structlog

from streams.log_limit import RepetitionLimit
from streams.records.attempt import Attempt, next_hop_fields, outcome_fields
from streams.records.next_hop import DeadLetter
from streams.records.outcome import Deferred, Succeeded

if TYPE_CHECKING:
    from structlog.typing import Processor

__all__ = ["configure_log", "log_attempt"]

_attempts = structlog.get_logger("attempt")


def configure_log(*, form: Literal["console", "json"], level: str) -> None:
    """Set up the process's log, once, at its start. Lines go to stderr: stdout is for a command's own output."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    render: Processor = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and "NO_COLOR" not in os.environ)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RepetitionLimit())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    # They describe their own insides at "info", and Faust a rebalance in a dozen lines; ours say what matters.
    for chatty in (
        "abc",
        "aiokafka",
        "faust",
        "mode",
        "streams.commit.consumer",
        "streams.commit.consumer_thread",
        "streams.worker.app",
    ):
        logging.getLogger(chatty).setLevel(max(number, logging.WARNING))


def log_attempt(attempt: Attempt) -> None:
    """The one canonical line of a turn, a dead letter's at warning.

    Successes and deferrals are at debug: of both there may be thousands a second, and `outbox.attempts` is their log.
    """
    is_dead = isinstance(attempt.next_hop, DeadLetter)
    is_quiet = isinstance(attempt.outcome, Succeeded | Deferred) and not is_dead
    if is_quiet and not _attempts.is_enabled_for(logging.DEBUG):
        return
    write = _attempts.debug if is_quiet else _attempts.warning if is_dead else _attempts.info
    fields = outcome_fields(attempt.outcome)
    fields.pop("excerpt", None)  # the receiver's words may quote the payload
    delivery = attempt.delivery
    write(
        "attempt",
        event_id=str(delivery.event.id),
        event_type=delivery.event.type,
        target=str(delivery.target),
        attempt=delivery.attempt,
        attempt_id=str(attempt.attempt_id),
        duration_ms=attempt.duration_ms,
        **fields,
        **{name: value for name, value in next_hop_fields(attempt.next_hop).items() if name not in fields},
    )
