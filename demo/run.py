"""The demo's frame: its own stack, the performance on it, and the last line.

Whatever happens, an error or Ctrl-C at any moment: everything that was started is stopped and removed, and the last
line says how it ended.
"""

import os
import sys
import time
from contextlib import ExitStack

import psycopg

from connectors.kafka.errors import KafkaEdgeError
from connectors.kafka_connect.errors import ConnectEdgeError
from connectors.postgres.errors import PostgresError
from demo.failure import DemoFailedError
from demo.interrupt import Interrupt
from demo.performance import Performance
from demo.screen import Screen
from demo.verdict import Verdict
from devstack.errors import DevstackError, RemovalError
from devstack.interrupts import ignore_interrupts
from devstack.stack import temporary_stack
from streams.errors import StreamsError

__all__ = ["main"]

_INTERRUPTED = 130
_ERRORS_FOR_PEOPLE = (
    DevstackError,
    StreamsError,
    KafkaEdgeError,
    ConnectEdgeError,
    PostgresError,
    psycopg.Error,
)


def main() -> int:
    """Run it, and return the exit code: 0 if everything was as it must be, 1 if not, 130 when interrupted."""
    for name in [name for name in os.environ if name.startswith("OUTBOX_")]:
        del os.environ[name]  # what a shell exports is meant for another stack; the demo shows the defaults
    interrupt = Interrupt()
    screen = Screen(sys.stdout)
    began = time.monotonic()
    try:
        line, code = _run(screen, interrupt)
    except RemovalError as error:
        line, code = f"demo FAILED: not everything is removed: {error}", 1
    else:
        ignore_interrupts()  # it is over, and how it ended is known
        screen.say(f"Everything is stopped and removed again. It took {time.monotonic() - began:.0f} s.")
    print(line, flush=True)  # noqa: T201 - as it is, whatever the terminal's width
    return code


def _run(screen: Screen, interrupt: Interrupt) -> tuple[str, int]:
    try:
        verdict = _perform(screen, interrupt)
    except KeyboardInterrupt:
        return "demo FAILED: interrupted", _INTERRUPTED
    except RemovalError:
        raise
    except DemoFailedError as error:
        screen.say(error.detail)
        return f"demo FAILED: {error}", 1
    except _ERRORS_FOR_PEOPLE as error:
        first_line, *more = str(error).splitlines() or [type(error).__name__]
        screen.say("\n".join(more))
        return f"demo FAILED: {first_line}", 1
    return verdict.line, 0 if verdict.ok else 1


def _perform(screen: Screen, interrupt: Interrupt) -> Verdict:
    with ExitStack() as cleanup:
        with screen.starting_stack() as listener:
            stack = cleanup.enter_context(temporary_stack(listener))
        try:
            return interrupt.run(Performance(stack, screen).play())
        except KeyboardInterrupt:
            screen.say("Interrupted: stopping and removing everything, which takes a few seconds")
            raise
