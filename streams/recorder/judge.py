"""The judge: warns of endpoints that do nothing but fail, and disables them; those that are gone at once.

Place in the data's way: beside the recorder's batches, after them, over a connection of its own. Invariants: what is
done, what is noted of it, and the event that tells it are one transaction, in which the decision is made once more
with the rows locked: so each is done exactly once, whichever recorder is killed, and however many judge. It stops no
recording: what fails is told, and tried again within a minute. The change goes the way of every change: audited, and
told to the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

import psycopg
import structlog

from connectors.postgres.audit import Actor, AuditLog
from connectors.postgres.connection import SILENCE_PARAMETERS, connect, statement_errors
from connectors.postgres.endpoint_health import EndpointHealth, JudgedEndpoint
from connectors.postgres.endpoint_health_table import EndpointHealthTable
from connectors.postgres.endpoints import EndpointStore
from connectors.postgres.errors import EndpointUnreadableError, LockHeldError, PostgresError
from connectors.postgres.reserved_event import append_reserved
from connectors.postgres.stored_endpoint import StoredEndpoint
from streams.recorder.disabling import Decision, Disable, Warn, decide

__all__ = ["Judge"]

_log = structlog.get_logger("streams.recorder")

_LOOK_EVERY_S: Final = 60.0
_TIDY_EVERY_S: Final = 3_600.0
_RECORDER: Final = Actor(name="recorder")
_PARAMETERS: Final = {"application_name": "outbox-recorder", **SILENCE_PARAMETERS}
# An endpoint that somebody is changing is judged a little later: the batches don't wait for that.
_SESSION: Final = ("set lock_timeout = '500ms'", "set statement_timeout = '10s'")
#: Of so many that somebody holds, the rest is left for later, too.
_HELD_AT_ONCE: Final = 4


class Judge:
    """Judges endpoints in one database. One thread's.

    Args:
        url: the database.
        period: for how long an endpoint may do nothing but fail; None: for ever.
        now: the time of day.
        monotonic_s: for the minutes between two looks at all, and the hours between two tidyings.
    """

    def __init__(
        self,
        url: str,
        *,
        period: timedelta | None,
        now: Callable[[], datetime],
        monotonic_s: Callable[[], float],
    ) -> None:
        self._url = url
        self._period = period
        self._now = now
        self._monotonic_s = monotonic_s
        self._look_at_s = self._tidy_at_s = monotonic_s()
        self._unreadable: set[str] = set()
        self._connection: psycopg.Connection[Any] | None = None

    def consider(self, seen: Iterable[JudgedEndpoint]) -> None:
        """Judge the endpoints of a batch that was written."""
        called_for = [endpoint for endpoint in seen if self._decide(endpoint) is not None]
        if called_for:
            self._attend(lambda _table: called_for)

    def tend(self) -> None:
        """At the start, and once a minute: judge all, whoever has recorded them. Mostly there is nothing to do.

        Once an hour: have one row of health for each endpoint, and delete audit entries that are too old.
        """
        now_s = self._monotonic_s()
        if now_s >= self._tidy_at_s:
            self._tidy_at_s = now_s + _TIDY_EVERY_S
            self._attend(self._tidied)
        if now_s >= self._look_at_s:
            self._look_at_s = now_s + _LOOK_EVERY_S
            self._attend(lambda table: table.to_judge())

    def close(self) -> None:
        """Close the connection. It would be opened again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _attend(self, choose: Callable[[EndpointHealthTable], Iterable[JudgedEndpoint]]) -> None:
        try:
            with statement_errors():
                table = EndpointHealthTable(self._open())
                self._judge_all(table, [one for one in choose(table) if self._decide(one) is not None])
        except PostgresError as error:
            self.close()
            _log.warning("endpoints_not_judged", error=str(error), again_in_s=_LOOK_EVERY_S)
        except Exception:  # noqa: BLE001 - a defect here must not stop the recording
            self.close()
            _log.exception("endpoints_not_judged")

    def _tidied(self, table: EndpointHealthTable) -> Iterable[JudgedEndpoint]:
        table.tidy()
        if pruned := AuditLog(self._open()).prune():
            _log.info("audit_pruned", count=pruned)
        return ()

    def _decide(self, endpoint: JudgedEndpoint) -> Decision:
        return decide(endpoint, now=self._now(), period=self._period)

    def _judge_all(self, table: EndpointHealthTable, called_for: Iterable[JudgedEndpoint]) -> None:
        held = 0
        for endpoint in called_for:
            try:
                self._judge(table, endpoint.health.endpoint_id)
            except LockHeldError:
                held += 1
                if held == _HELD_AT_ONCE:
                    raise
                _log.warning("endpoint_held", endpoint=endpoint.health.endpoint_id, again_in_s=_LOOK_EVERY_S)

    def _judge(self, table: EndpointHealthTable, endpoint_id: str) -> None:
        connection, now = self._open(), self._now()
        try:
            with connection.transaction():
                held = table.held(endpoint_id)
                if held is None:
                    return
                health, decision = held.health, self._decide(held)
                match decision:
                    case None:
                        return
                    case Warn():
                        self._warn(table, health, decision, now)
                    case Disable():
                        self._disable(table, health, decision, now)
                    case _:
                        assert_never(decision)
        except EndpointUnreadableError as error:
            if endpoint_id not in self._unreadable:
                self._unreadable.add(endpoint_id)
                _log.warning("endpoint_not_disabled", endpoint=endpoint_id, error=str(error))
            return
        _log.warning(
            "endpoint_disabled" if isinstance(decision, Disable) else "endpoint_failing",
            endpoint=endpoint_id,
            reason=decision.reason if isinstance(decision, Disable) else "failing",
            failing_since=None if health.failing_since is None else health.failing_since.isoformat(),
        )

    def _warn(self, table: EndpointHealthTable, health: EndpointHealth, warn: Warn, now: datetime) -> None:
        told = replace(health, warnings=warn.warnings, warned_since=health.failing_since, warned_at=now)
        if health.warnings_told:
            told = replace(told, warned_at=health.warned_at)  # the first warning gives the notice
        table.note_warning(health.endpoint_id, warnings=told.warnings, at=told.warned_at or now)
        disables_at = told.disables_at(self._period)
        payload = {"reason": "failing", "disables_at": disables_at, **_payload(health)}
        append_reserved(self._open(), "endpoint.failing", endpoint_id=health.endpoint_id, payload=payload)

    def _disable(
        self, table: EndpointHealthTable, health: EndpointHealth, disable: Disable, now: datetime
    ) -> None:
        connection = self._open()
        # Without keys: what is sealed stays as it is, and is told as it is.
        EndpointStore(connection, actor=_RECORDER).change(
            health.endpoint_id, _disabled, action="endpoint.disabled"
        )
        table.note_disabled(health.endpoint_id, reason=disable.reason, at=now)
        payload = {"reason": disable.reason, "disabled_at": now, **_payload(health)}
        append_reserved(connection, "endpoint.disabled", endpoint_id=health.endpoint_id, payload=payload)

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            connection = connect(self._url, **_PARAMETERS)
            self._connection = connection  # closed by `_attend` if what follows fails
            connection.autocommit = True
            for statement in _SESSION:
                connection.execute(statement)
        return self._connection


def _disabled(before: StoredEndpoint) -> StoredEndpoint:
    return replace(before, endpoint=replace(before.endpoint, enabled=False))


def _payload(health: EndpointHealth) -> dict[str, Any]:
    failure = health.signs.last_failure
    return {
        "endpoint_id": health.endpoint_id,
        "failing_since": health.failing_since,
        # None yet in the minute of the last success, in which it failed nevertheless.
        "failing_minutes": max(health.signs.failing.count, 1),
        "last_success_at": health.signs.last_success_at,
        "last_failure_at": None if failure is None else failure.at,
        "last_error": None if failure is None else failure.error,
        "last_status": None if failure is None else failure.http_status,
    }
