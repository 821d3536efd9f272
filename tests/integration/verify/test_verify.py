"""INV-1 on the real stack: a healthy run adds up, and each way of losing an event is found by its id."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from outbox.handlers import Handlers
from streams.verify.report import Source
from tests.support.answers import respond
from tests.support.eventually import eventually
from tests.support.pipeline import Pipeline
from tests.support.verifying import broken_since, database_now, verified, wait_until_logged


def counts(answer: Any, *names: str) -> tuple[int, ...]:
    return tuple(answer[name] for name in names)


def change(running: Pipeline, statement: str, *values: object) -> None:
    """Break something in Postgres; exactly one row."""
    with running.connect() as connection:
        assert connection.execute(statement, values).rowcount == 1


def delivered(running: Pipeline) -> tuple[datetime, UUID]:
    """Since when, and an event that is delivered to the one endpoint that wants it."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    since = database_now(running)
    event_id = running.append(f"{mailbox.event_type}.sold")
    wait_until_logged(running, event_id, "succeeded")
    return since, event_id


def test_inv_1_whatever_becomes_of_an_event_it_is_accounted_for(running: Pipeline) -> None:
    """Delivered, refused, waiting in a tier, wanted by nobody: counted once each, at once and when all is settled."""
    takes, waits = running.mailbox(), running.mailbox(respond(503))
    refuses = running.mailbox(respond(404))
    for mailbox in (takes, waits, refuses):
        running.wait_until_known(mailbox)
    since = database_now(running)
    events = running.append_many(f"{takes.event_type}.sold", 30)
    assert verified(running, since)["committed"] == 30  # while it is under way
    waiting = running.append(f"{waits.event_type}.sold")
    refused = running.append(f"{refuses.event_type}.sold")
    running.append("nobody.wants.this")
    for event_id in events:
        wait_until_logged(running, event_id, "succeeded")
    wait_until_logged(running, waiting, "retrying")
    wait_until_logged(running, refused, "failed")

    def settled() -> Any:
        answer = verified(running, since)
        # The workers' commit follows a moment later; until then it is waiting.
        return answer if answer["dead"] == 2 and answer["waiting"] == 1 else None

    answer = eventually(settled, what="the commit of all events", timeout_s=120)
    assert counts(answer, "committed", "rows", "on_kafka") == (33, 33, 33)
    assert counts(answer, "delivered", "waiting", "dead", "cancelled", "unwanted") == (30, 1, 2, 0, 0)
    assert counts(answer, "unaccounted", "unjudged", "exit_code") == (0, 0, 0)
    assert answer["deliveries"] == {"succeeded": 30, "retrying": 1, "failed": 1}


def test_a_delivery_that_is_gone_from_the_log_is_found(running: Pipeline) -> None:
    """Settled, and nobody knows what became of it."""
    since, event_id = delivered(running)
    change(running, "delete from outbox.deliveries where event_id = %s", event_id)
    assert broken_since(running, since) == {str(event_id): "no-outcome"}


def test_one_of_two_deliveries_that_is_gone_is_found(running: Pipeline) -> None:
    """The endpoint has been the same since long before: it must have one. One that was changed since need not."""
    first = running.mailbox()
    second = running.mailbox(event_type=first.event_type)
    running.wait_until_known(second)
    since = database_now(running)
    event_id = running.append(f"{first.event_type}.sold")
    wait_until_logged(running, event_id, "succeeded", "succeeded")
    target = f"endpoint:{second.id}"
    change(running, "delete from outbox.deliveries where event_id = %s and target = %s", event_id, target)
    assert counts(verified(running, since), "committed", "unaccounted") == (1, 0)
    change(
        running, "update outbox.endpoints set updated_at = now() - interval '1 hour' where id = %s", second.id
    )
    assert broken_since(running, since) == {str(event_id): "target-missing"}


def test_a_row_that_never_reached_kafka_is_found(running: Pipeline) -> None:
    """A publication that lost its table: the connector went past the row. Before it has, nothing is said of it."""
    since = database_now(running)
    with running.connect() as connection:
        connection.autocommit = True
        connection.execute("alter publication outbox drop table outbox.outbox")
        try:
            event_id = running.append("never.published")
        finally:
            connection.execute("alter publication outbox add table outbox.outbox")

    def not_judged() -> bool:
        answer = verified(running, since, patience=timedelta())
        # While it looks, the connector may just have confirmed everything.
        said = answer["not_judged"] or ""
        return answer["exit_code"] == 2 and "has not confirmed their position yet" in said

    eventually(not_judged, what="a connector that is a moment behind", timeout_s=120)
    assert broken_since(running, since) == {str(event_id): "not-on-kafka"}
    answer = verified(running, since)
    assert counts(answer, "committed", "rows", "on_kafka") == (1, 1, 0)
    # Nobody can see that without the rows.
    assert counts(verified(running, since, source="topic"), "committed", "rows") == (0, 0)


@pytest.mark.parametrize(("status", "standing"), [("retrying", 0), ("pending", 0)])
def test_a_delivery_that_waits_nowhere_is_found(running: Pipeline, status: str, standing: int) -> None:
    """The log believes that it waits, and no record of it is in a tier or on its way back."""
    since, event_id = delivered(running)
    change(
        running,
        "update outbox.deliveries set status = %s, standing = %s where event_id = %s",
        status,
        standing,
        event_id,
    )
    assert broken_since(running, since) == {str(event_id): "wait-lost"}


def test_a_dead_letter_that_is_gone_is_found(running: Pipeline) -> None:
    """The log believes that somebody can redrive it."""
    mailbox = running.mailbox(respond(404))
    running.wait_until_known(mailbox)
    since = database_now(running)
    event_id = running.append(f"{mailbox.event_type}.sold")
    wait_until_logged(running, event_id, "failed")
    assert counts(verified(running, since), "committed", "unaccounted") == (1, 0)
    change(running, "delete from outbox.dead_letters where event_id = %s", event_id)
    assert broken_since(running, since) == {str(event_id): "letter-lost"}


def test_what_comes_for_a_disabled_endpoint_is_accounted_for(running: Pipeline) -> None:
    """Nobody wants it meanwhile, which is a dead letter; what waited before, waits."""
    mailbox = running.mailbox(respond(503))
    running.wait_until_known(mailbox)
    since = database_now(running)
    before = running.append(f"{mailbox.event_type}.sold")
    wait_until_logged(running, before, "retrying")
    running.change(mailbox, enabled=False)
    running.wait_until_forgotten(mailbox)
    running.append(f"{mailbox.event_type}.sold")

    def settled() -> bool:
        answer = verified(running, since)
        return bool(answer["waiting"] == 1 and answer["dead"] > 0)

    eventually(settled, what="the dead letter", timeout_s=120)


def test_an_event_that_a_payload_filter_leaves_out_is_unwanted(running: Pipeline) -> None:
    """It leaves no trace on purpose; one that the filter wants must have left one."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    since, event_id = database_now(running), running.append(f"{mailbox.event_type}.sold", payload={"n": 1})
    wait_until_logged(running, event_id, "succeeded")
    change(running, "delete from outbox.deliveries where event_id = %s", event_id)
    for wants, reasons in ((2, {}), (1, {str(event_id): "no-outcome"})):
        change(
            running,
            "update outbox.endpoints set payload_filter = %s, updated_at = now() - interval '1 hour' where id = %s",
            f'{{"n": [{wants}]}}',
            mailbox.id,
        )
        if reasons:
            assert broken_since(running, since) == reasons
            continue
        eventually(
            lambda: verified(running, since)["unwanted"] == 1, what="the commit of the event", timeout_s=120
        )


def test_rows_that_were_pruned_are_no_loss(running: Pipeline) -> None:
    """The topic has the events; who asks for rows alone is told of none."""
    since, event_id = delivered(running)
    change(running, "delete from outbox.outbox where id = %s", event_id)
    sources: dict[Source, int] = {"topic": 1, "both": 1, "postgres": 0}
    for source, committed in sources.items():
        answer = verified(running, since, source=source)
        assert counts(answer, "committed", "rows", "unaccounted") == (committed, 0, 0)
        assert answer["source"] == source


def test_a_replays_delivery_that_waits_is_accounted_for(running: Pipeline) -> None:
    """It had succeeded; sent again it fails, and waits. Were its record gone, that would be found."""
    mailbox = running.mailbox()
    running.wait_until_known(mailbox)
    since = database_now(running)
    event_id = running.append(f"{mailbox.event_type}.sold")
    wait_until_logged(running, event_id, "succeeded")
    mailbox.answer_with(respond(503))
    with running.connect() as connection:
        row = connection.execute(
            "select id from outbox.deliveries where event_id = %s", (event_id,)
        ).fetchone()
    assert row is not None
    resend = running.start(
        "deliveries", "resend", str(row[0]), database_url=running.installation.database_url
    )
    assert resend.wait_for_end() == 0, resend.text
    wait_until_logged(running, event_id, "retrying")
    assert counts(verified(running, since), "committed", "waiting", "unaccounted") == (1, 1, 0)
    # As if the log spoke of a still later replay.
    change(running, "update outbox.deliveries set replay_id = 'z' || replay_id where event_id = %s", event_id)
    assert broken_since(running, since) == {str(event_id): "wait-lost"}


def test_a_handler_that_is_named_must_have_its_delivery(running: Pipeline) -> None:
    """The workers here have no handlers: what an endpoint got, and the handler did not, is found."""
    since, event_id = delivered(running)
    handlers = Handlers()
    handlers.on("*", name="billing")(lambda _event: None)
    assert counts(verified(running, since), "committed", "unaccounted") == (1, 0)
    assert broken_since(running, since, handlers=handlers) == {str(event_id): "target-missing"}
