"""What must not be said is not said anywhere: the logs of a whole run are searched, and what it recorded.

INV-9: no secret and no payload in a log, a metric, an error or a URL. The first test brings about whatever
writes logs, at the level at which most is written. The last one runs after all others, and searches for the
words that every payload, URL and secret of the tests on the pipeline carries (`tests/support/marks.py`).
"""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from connectors.kafka.record import OutgoingRecord
from connectors.webhook.secret import Secret
from streams import topics
from tests.support.answers import close_without_answer, hang, raw, redirect, reset, respond
from tests.support.installation import Installation
from tests.support.marks import PAYLOAD_MARK, SECRET_MARK, URL_MARK, marked_secret
from tests.support.pipeline import Pipeline, marked_payload
from tests.support.topics import TopicTail, produce

FORBIDDEN = (PAYLOAD_MARK, URL_MARK, SECRET_MARK)


def found_in(text: str) -> list[str]:
    return [word for word in FORBIDDEN if word in text]


def test_whatever_goes_wrong_is_told_without_what_it_was_about(pipeline: Pipeline) -> None:
    """INV-9: failures of every stage of an attempt, of handlers, of records and of endpoints, at log level debug."""
    answers = {
        "refused": respond(404, b"no"),
        "redirect": redirect(f"https://user:{URL_MARK}@elsewhere.example/in?token={URL_MARK}#{URL_MARK}"),
        "odd location": redirect(f"\x01?{URL_MARK}"),
        "failed": respond(500),
        "nothing": close_without_answer(),
        "reset": reset(),
        "garbage": raw(b"\x00\x01garbage\r\n\r\n", close=True),
        "hanging": hang(),
    }
    mailboxes = {name: pipeline.mailbox(answer) for name, answer in answers.items()}
    nowhere = pipeline.mailbox()
    for url in (
        pipeline.installation.receiver.url(f"/tls?token={URL_MARK}").replace("http:", "https:"),
        f"http://no-such-host.invalid/{URL_MARK}?token={URL_MARK}",
        f"http://127.0.0.1:9/{URL_MARK}",
    ):
        pipeline.mailbox(event_type=nowhere.event_type, url=url)
    broken_endpoint = (
        f'{{"id": "ep_x", "url": "http://x/?{URL_MARK}", "secrets": ["{SECRET_MARK}"]}}'.encode()
    )
    unreadable = [broken_endpoint, broken_endpoint[:-3], b'{"secrets": "' + SECRET_MARK.encode()]
    key = f"ep_{uuid4().hex[:8]}".encode()
    produce(
        pipeline.kafka,
        [
            OutgoingRecord(topic=topics.ENDPOINTS, partition=0, key=key, value=value, headers=[])
            for value in unreadable
        ],
    )
    pipeline.scheduler(log_level="debug")
    worker = pipeline.worker(
        log_level="debug",
        handlers="tests.support.scripted_handlers",
        handler_max_attempts=2,
        endpoint_schedule="1s",
        endpoint_connect_timeout_s=1,
        endpoint_first_byte_timeout_s=1,
        endpoint_timeout_s=1,
    )
    ids = [pipeline.append(mailbox.event_type) for mailbox in (*mailboxes.values(), nowhere)]
    ids += [pipeline.append(f"handled.{what}") for what in ("well", "never", "refused")]
    nobody = pipeline.append("nobody.wants.this")
    produce(pipeline.kafka, [undecodable(), undecodable()])
    pipeline.attempts.wait_until(lambda log: not log.parked(ids), what="end of all deliveries", timeout_s=60)
    pipeline.dead_letters.wait_for_events([nobody])
    produce(
        pipeline.kafka,
        [OutgoingRecord(topic=topics.ENDPOINTS, partition=0, key=key, value=None, headers=[])],
    )
    assert worker.of("endpoint_unreadable")
    assert worker.stop() == 0
    assert not found_in(worker.text)
    recorded = [str(turn) for event_id in ids for turn in pipeline.attempts.of(event_id)]
    assert not found_in("".join(recorded))
    letters = [letter.headers for letter in pipeline.dead_letters.to_the_end()]
    assert not found_in("".join(headers.get("outbox-error", "") for headers in letters))


def undecodable() -> OutgoingRecord:
    value = f'{{"mark": "{PAYLOAD_MARK}"'.encode()
    return OutgoingRecord(topic=topics.EVENTS, partition=0, key=b"1", value=value, headers=[("id", b"x")])


def test_a_row_that_is_refused_is_not_quoted(installation: Installation) -> None:
    """INV-9: the library says what is wrong with an event without saying what was in it.

    (For a program that inserts into the table itself, Postgres' own message quotes the row.)
    """
    with psycopg.connect(installation.database_url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute("select outbox.append('bad type', 'order', '1', %s)", [str(marked_payload())])
    assert not found_in(str(raised.value))


@pytest.mark.looks_back
def test_nothing_of_this_run_leaked(installation: Installation) -> None:
    """INV-9: not in a log of ours, nor in one of Postgres, Kafka or Kafka Connect, nor in a record of an attempt.

    The search is worth something because the marks are really used: the receiver got them.
    """
    received = installation.receiver.requests
    assert any(PAYLOAD_MARK.encode() in request.body for request in received)
    assert any(URL_MARK in request.target for request in received)
    assert SECRET_MARK in marked_secret(1).reveal()
    logs = [*installation.logs.iterdir(), *stack_logs(installation)]
    leaks = {log.name: found_in(log.read_text(errors="replace")) for log in logs}
    assert {name: words for name, words in leaks.items() if words} == {}
    attempts = TopicTail(installation.kafka, topics.ATTEMPTS, from_beginning=True)
    assert not found_in("".join((record.value or b"").decode() for record in attempts.to_the_end()))
    letters = TopicTail(installation.kafka, topics.DEAD_LETTER, from_beginning=True)
    assert not found_in("".join(letter.headers.get("outbox-error", "") for letter in letters.to_the_end()))


def stack_logs(installation: Installation) -> list[Path]:
    return list((installation.stack.state_dir / "logs").iterdir())


def test_a_secret_shows_in_no_form() -> None:
    """INV-9: not in what Python itself prints of it."""
    secret: Secret = marked_secret(7)
    assert SECRET_MARK not in f"{secret} {secret!r} {[secret]} {{'a': secret}}"
