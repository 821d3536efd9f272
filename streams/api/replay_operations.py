"""The operations on replays: asking for a resend, a recovery or a range, looking at them, stopping one.

Place in the data's way: a request becomes a row, in the same transaction as its audit entry; the replayers of this
process or another execute it. So it is answered at once, with the replay as it is then (202).
"""

from datetime import datetime
from typing import Final

from connectors.kafka.read_record import RecordReader
from outbox import EventFilter
from streams.api.cursor import read_replay_cursor, replay_cursor
from streams.api.kafka_address import kafka_address
from streams.api.models import NoFields, PageQuery
from streams.api.operation import Answer, Call, Operation
from streams.api.problem import FieldProblem, Problem, ProblemError
from streams.api.replay_models import RangeReplay, Recovery
from streams.api.replay_views import ReplaysPage, ReplayView, replay_view, replays_page
from streams.records.target import parse_target
from streams.replay.range_selection import NEEDS_TYPES, RangeSelection, needs_types
from streams.replay.requests import request_range, request_recovery, request_resend

__all__ = ["REPLAY_OPERATIONS", "accepted"]

#: Of the log's connections there are few, and one waits for Kafka meanwhile.
_EVENT_WITHIN_S: Final = 3.0


def accepted(view: ReplayView) -> Answer:
    """The answer to a request for a replay."""
    return Answer(body=view, headers={"Location": f"/v1/replays/{view.id}"})


def _resend(call: Call) -> Answer:
    servers = kafka_address(call.settings.kafka_bootstrap_servers)
    replay = request_resend(
        call.connection,
        call.delivery_id,
        actor=call.actor,
        idempotency_key=call.idempotency_key,
        new_reader=lambda: RecordReader(servers, client_id="outbox-api", timeout_s=_EVENT_WITHIN_S),
    )
    return accepted(replay_view(replay))


def _recover(call: Call) -> Answer:
    kafka_address(call.settings.kafka_bootstrap_servers)
    asked: Recovery = call.body
    _check_times(call.now, since=asked.since, until=asked.until)
    replay = request_recovery(
        call.connection,
        call.endpoint_id,
        since=asked.since,
        until=asked.until,
        rate_per_s=asked.rate_per_s,
        actor=call.actor,
        idempotency_key=call.idempotency_key,
    )
    return accepted(replay_view(replay))


def _range(call: Call) -> Answer:
    kafka_address(call.settings.kafka_bootstrap_servers)
    asked: RangeReplay = call.body
    _check_times(call.now, since=asked.begin, until=asked.end, names=("from", "to"))
    selection = RangeSelection(
        begin=asked.begin,
        end=asked.end,
        types=tuple(map(EventFilter, dict.fromkeys(asked.types))),
        aggregates=tuple(dict.fromkeys(asked.aggregates)),
        ids=tuple(dict.fromkeys(asked.ids)),
        targets=tuple(map(parse_target, dict.fromkeys(asked.targets))),
        events_from=asked.source,
    )
    if needs_types(selection.targets, selection.types):
        raise _wrong("#/types", NEEDS_TYPES)
    replay = request_range(
        call.connection,
        selection,
        rate_per_s=asked.rate_per_s,
        actor=call.actor,
        idempotency_key=call.idempotency_key,
    )
    return accepted(replay_view(replay))


def _check_times(
    now: datetime,
    *,
    since: datetime,
    until: datetime | None,
    names: tuple[str, str] = ("since", "until"),
) -> None:
    first, last = names
    if since > now:
        raise _wrong(f"#/{first}", "this is in the future: no event was committed since then")
    if until is not None and until <= since:
        raise _wrong(f"#/{last}", f"this is not after `{first}`: no event is between them")


def _wrong(pointer: str, detail: str) -> ProblemError:
    wrong = FieldProblem(where="pointer", name=pointer, detail=detail)
    return ProblemError(
        Problem(
            kind="body-invalid",
            detail="Put right what `errors` lists, and send it again. Nothing was changed.",
            errors=(wrong,),
        )
    )


def _list(call: Call) -> Answer:
    query: PageQuery = call.query
    before = None if query.cursor is None else read_replay_cursor(query.cursor)
    # One more than is shown says whether there is a next page.
    found = call.replays.page(limit=query.limit + 1, before=before)
    shown = found[: query.limit]
    next_cursor = replay_cursor(shown[-1].id) if len(found) > query.limit else None
    return Answer(body=replays_page(shown, next_cursor=next_cursor))


def _show(call: Call) -> Answer:
    return Answer(body=replay_view(call.replays.get(call.replay_id)))


def _stop(call: Call) -> Answer:
    return Answer(body=replay_view(call.replays.stop(call.replay_id)))


REPLAY_OPERATIONS: Final = (
    Operation(
        name="resendDelivery",
        method="POST",
        path="/v1/deliveries/{delivery_id}/resend",
        summary="Send one delivery again, whatever became of it",
        description="With the same webhook-id and a fresh budget of attempts, once for each Idempotency-Key. The event "
        "is read from Kafka, which must still have it.",
        scope="write",
        body=NoFields,
        answer=ReplayView,
        status=202,
        problems=("not-found", "conflict", "event-gone", "kafka-not-set"),
        idempotent=True,
        starts_replay=True,
        reads_log=True,
        run=_resend,
    ),
    Operation(
        name="recoverEndpoint",
        method="POST",
        path="/v1/endpoints/{endpoint_id}/recover",
        summary="Send an endpoint what it should have got since a time, and has not",
        description="Events that it wants as it is now, but for those whose delivery has succeeded or is under way. "
        "For an endpoint that was disabled, failed, or did not exist then. At most what Kafka still has: `warning` "
        "says where that is less than was asked for.",
        scope="write",
        body=Recovery,
        body_required=True,
        answer=ReplayView,
        status=202,
        problems=("not-found", "conflict", "kafka-not-set"),
        idempotent=True,
        starts_replay=True,
        run=_recover,
    ),
    Operation(
        name="replayRange",
        method="POST",
        path="/v1/replays",
        summary="Send the events of a range to the targets that are named, also those that were delivered before",
        description="With the same webhook-id and a fresh budget of attempts; no other target hears of it. An "
        "endpoint gets what it wants as it is now. `warning` says where fewer events can be "
        "read than were asked for.",
        scope="write",
        body=RangeReplay,
        body_required=True,
        answer=ReplayView,
        status=202,
        problems=("conflict", "kafka-not-set"),
        idempotent=True,
        starts_replay=True,
        run=_range,
    ),
    Operation(
        name="listReplays",
        method="GET",
        path="/v1/replays",
        summary="List replays, newest first",
        scope="read",
        query=PageQuery,
        answer=ReplaysPage,
        run=_list,
    ),
    Operation(
        name="showReplay",
        method="GET",
        path="/v1/replays/{replay_id}",
        summary="Show a replay with its progress",
        scope="read",
        answer=ReplayView,
        problems=("not-found",),
        run=_show,
    ),
    Operation(
        name="stopReplay",
        method="POST",
        path="/v1/replays/{replay_id}/stop",
        summary="Stop a replay",
        description="What it has sent stays sent, and within a second nothing more is. One that has ended stays as it "
        "is.",
        scope="write",
        body=NoFields,
        answer=ReplayView,
        problems=("not-found",),
        run=_stop,
    ),
)
