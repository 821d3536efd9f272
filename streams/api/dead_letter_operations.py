"""The operations on dead letters: listing them, showing one, sending some again, putting some aside.

Place in the data's way: they read and change what the recorder wrote; what a redrive sends is the replayer's matter.
Reading runs over connections of its own (`Operation.reads_log`), as that of the delivery log does.
"""

from typing import Final
from uuid import UUID

from connectors.postgres.dead_letter import DeadLetterQuery
from streams.api.dead_letter_models import DeadLettersQuery, Discarding, Redriving
from streams.api.dead_letter_views import (
    DeadLetterDetail,
    DeadLettersPage,
    Discarded,
    dead_letter_detail,
    dead_letters_page,
)
from streams.api.kafka_address import kafka_address
from streams.api.log_page import reading_a_page
from streams.api.operation import Answer, Call, Operation
from streams.api.replay_operations import accepted
from streams.api.replay_views import ReplayView, replay_view
from streams.replay.pace import DEFAULT_RATE_PER_S

__all__ = ["DEAD_LETTER_OPERATIONS", "dead_letter_query"]


def dead_letter_query(query: DeadLettersQuery) -> DeadLetterQuery:
    """What the table is asked for."""
    return DeadLetterQuery(
        codes=frozenset(query.code),
        letter_class=query.letter_class,
        target=query.target,
        event_type=query.event_type,
        event_id=query.event_id,
        statuses=frozenset(query.status),
        since=query.since,
        until=query.until,
    )


def _list(call: Call) -> Answer:
    query: DeadLettersQuery = call.query
    with reading_a_page("The dead letters", helps="a target, code or event_id"):
        page = call.dead_letters.list(dead_letter_query(query), limit=query.limit, cursor=query.cursor)
    return Answer(body=dead_letters_page(page))


def _show(call: Call) -> Answer:
    letter = call.dead_letters.get(call.dead_letter_id)
    return Answer(body=dead_letter_detail(letter, call.dead_letters.first_error(letter)))


def _discard(call: Call) -> Answer:
    discarding: Discarding = call.body
    return Answer(body=Discarded(discarded=call.dead_letters.discard(_named(discarding.ids))))


def _redrive(call: Call) -> Answer:
    kafka_address(call.settings.kafka_bootstrap_servers)
    redriving: Redriving = call.body
    query = _named(redriving.ids)
    redriven = call.redrives.request(
        query,
        poison="include" if redriving.include_poison else "refuse",
        rate_per_s=DEFAULT_RATE_PER_S,
        selection={
            "ids": sorted(map(str, query.ids or ())),
            "include_poison": redriving.include_poison,
        },
        actor=call.actor,
        idempotency_key=call.idempotency_key,
    )
    return accepted(replay_view(redriven.replay))


def _named(ids: list[UUID]) -> DeadLetterQuery:
    return DeadLetterQuery(ids=tuple(dict.fromkeys(ids)))


DEAD_LETTER_OPERATIONS: Final = (
    Operation(
        name="listDeadLetters",
        method="GET",
        path="/v1/dead-letters",
        summary="List dead letters, newest first",
        description="As the recorder has read them, which is a moment after they died.",
        scope="read",
        query=DeadLettersQuery,
        answer=DeadLettersPage,
        reads_log=True,
        run=_list,
    ),
    Operation(
        name="showDeadLetter",
        method="GET",
        path="/v1/dead-letters/{dead_letter_id}",
        summary="Show a dead letter with its first error",
        description="Without its payload, which stays in Kafka.",
        scope="read",
        answer=DeadLetterDetail,
        problems=("not-found",),
        reads_log=True,
        run=_show,
    ),
    Operation(
        name="redriveDeadLetters",
        method="POST",
        path="/v1/dead-letters/redrive",
        summary="Send dead letters again, each once",
        description="To the target that each names, or to whoever wants it now if it names none, with the same "
        "webhook-id and a fresh budget of attempts. Those that were redriven or discarded before are left out; if "
        "none of them is open, or one is poison, nothing is done (409). What dies again is a new dead letter.",
        scope="write",
        body=Redriving,
        body_required=True,
        answer=ReplayView,
        status=202,
        problems=("conflict", "kafka-not-set"),
        idempotent=True,
        starts_replay=True,
        run=_redrive,
    ),
    Operation(
        name="discardDeadLetters",
        method="POST",
        path="/v1/dead-letters/discard",
        summary="Put dead letters aside",
        description="They are never redriven then. Their records stay in Kafka until its retention ends them.",
        scope="write",
        body=Discarding,
        body_required=True,
        answer=Discarded,
        run=_discard,
    ),
)
