"""`outbox replay reset` on real Kafka, on topics of each test's own: what it shows, refuses and writes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner, Result

from connectors.kafka.admin import KafkaAdmin
from connectors.kafka.group_offsets import GroupOffsets
from streams import topics
from streams.cli.replay import app
from streams.commit.metadata import encode, reset_mark
from tests.support.eventually import eventually
from tests.support.installation import Installation
from tests.support.kafka_tool import KafkaTool
from tests.support.topics import committed
from tests.support.worker_bench import OwnTopics, WorkerBench

Run = Callable[..., Result]
_ANSWER_S = 15.0


@pytest.fixture
def own(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> OwnTopics:
    monkeypatch.setenv("OUTBOX_KAFKA_BOOTSTRAP_SERVERS", installation.kafka)
    monkeypatch.setenv("OUTBOX_DATABASE_URL", installation.database_url)
    return OwnTopics(installation.kafka, monkeypatch)


@pytest.fixture
def run(own: OwnTopics) -> Run:
    del own

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, ["reset", *arguments], env={"COLUMNS": "200"})

    return run


@pytest.fixture
async def worker(own: OwnTopics) -> AsyncIterator[WorkerBench]:
    made = WorkerBench(own.servers)
    yield made
    await made.stop()


def stands(own: OwnTopics, **offsets: int) -> None:
    """Let the group stand there: `p0=3`."""
    numbers = {int(name.removeprefix("p")): offset for name, offset in offsets.items()}
    GroupOffsets(own.servers).put(topics.WORKER_GROUP, topics.EVENTS, numbers, metadata="")


def where(own: OwnTopics) -> dict[int, int]:
    found = GroupOffsets(own.servers).commits(topics.WORKER_GROUP, topics.EVENTS)
    return {number: commit.offset for number, commit in found.items()}


def delete_before(own: OwnTopics, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": own.servers})
    for deleted in admin.delete_records([TopicPartition(own.events, 0, offset)]).values():
        deleted.result(_ANSWER_S)


def parsed(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def partition(shown: Any, number: int) -> Any:
    return next(each for each in shown["partitions"] if each["partition"] == number)


def test_it_only_shows_until_it_is_told_to_execute(own: OwnTopics, run: Run) -> None:
    """CASES 36: per partition from where to where, how many, of which types, for whom; and nothing is changed."""
    own.produce_events(0, 8)
    own.produce_events(8, 4, partition=1)
    stands(own, p0=8, p1=4)
    shown = parsed(run("--to-earliest", "--json"))
    assert (shown["executed"], shown["written"], shown["members"]) == (False, False, [])
    assert partition(shown, 0) | {"note": None} == {
        "partition": 0,
        "from": 8,
        "to": 0,
        "changes": True,
        "again_at_most": 8,
        "skipped_at_most": 0,
        "note": None,
    }
    assert shown["again"]["events_seen"] == 12
    assert shown["again"]["types"] == {"order.created": 12}
    assert shown["skipped"]["events_at_most"] == 0
    assert where(own) == {0: 8, 1: 4}
    told = run("--to-earliest")
    assert told.exit_code == 0
    assert "Read again: 12 events." in told.stdout
    assert "Nothing was changed. --execute sets the offsets." in told.stdout
    assert "Handlers are not counted" in told.stdout


def test_executed_it_stands_where_it_was_shown_to(own: OwnTopics, run: Run, tmp_path: Path) -> None:
    """By Kafka's own tool; what was not named stays, in the other partition and on `outbox.redelivery`."""
    own.produce_events(0, 8)
    own.produce_events(8, 4, partition=1)
    stands(own, p0=8, p1=4)
    GroupOffsets(own.servers).put(topics.WORKER_GROUP, topics.REDELIVERY, {0: 3}, metadata="")
    shown = parsed(run("--to-offset", "0:5", "--execute", "--json"))
    assert shown["written"]
    tool = KafkaTool(own.servers, tmp_path)
    assert tool.offsets(topics.WORKER_GROUP, topics.EVENTS) == {0: 5, 1: 4}
    assert tool.offsets(topics.WORKER_GROUP, topics.REDELIVERY) == {0: 3}


def test_it_agrees_with_kafkas_own_tool_about_times_and_shifts(
    own: OwnTopics, run: Run, tmp_path: Path
) -> None:
    """The same offsets as `kafka-consumer-groups --reset-offsets` would choose, for a time between two events too."""
    own.produce_events(0, 5)
    between = a_time_after_all(own)
    own.produce_events(5, 5)
    own.produce_events(10, 2, partition=1)
    stands(own, p0=9, p1=2)
    tool = KafkaTool(own.servers, tmp_path)
    for ours, theirs in (
        (
            ("--to-time", between.isoformat()),
            ("--to-datetime", f"{between:%Y-%m-%dT%H:%M:%S}.{between.microsecond // 1000:03}"),
        ),
        (("--shift-by", "-3"), ("--shift-by", "-3")),
        (("--to-earliest",), ("--to-earliest",)),
    ):
        shown = parsed(run(*ours, "--json"))
        chosen = {each["partition"]: each["to"] for each in shown["partitions"]}
        assert chosen == tool.would_reset(topics.WORKER_GROUP, topics.EVENTS, *theirs)


def a_time_after_all(own: OwnTopics) -> datetime:
    """Later than the records that are there, and not later than any to come."""
    newest = KafkaAdmin(own.servers).newest_timestamp(own.events)
    assert newest is not None
    between = newest + timedelta(milliseconds=1)
    eventually(lambda: datetime.now(UTC) > between, what="a later time")
    return between


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--to-offset", "0:9"), "--to-offset 0:9: partition 0 has the offsets 2 to 5"),
        (("--to-offset", "0:1"), "what came before is deleted"),
        (("--to-offset", "6:0"), "there is no partition 6, only 0, 1"),
    ],
)
def test_what_is_not_there_is_refused(
    own: OwnTopics, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    """Beyond the end, within what retention took, an unknown partition: exit code 1, and the place by its name."""
    own.produce_events(0, 5)
    stands(own, p0=5)
    delete_before(own, 2)
    result = run(*arguments, "--execute")
    assert result.exit_code == 1
    assert said in " ".join(result.stderr.split())
    assert where(own) == {0: 5}


@pytest.mark.parametrize(
    "arguments", [(), ("--to-earliest", "--shift-by", "1"), ("--to-time", "never"), ("--to-offset", "a:b")]
)
def test_options_that_say_nothing_are_refused(run: Run, arguments: tuple[str, ...]) -> None:
    """Exit code 2, as for any option that can't be read."""
    assert run(*arguments).exit_code == 2


def test_a_range_that_retention_cut_begins_where_the_log_does(own: OwnTopics, run: Run) -> None:
    """It is said, and what is left is counted."""
    own.produce_events(0, 6)
    stands(own, p0=6)
    delete_before(own, 4)
    for arguments, note in (
        (("--to-time", "24h"), "what was before 4 is deleted"),
        (("--shift-by", "-5"), "3 offsets short: the log begins at 4"),
    ):
        shown = parsed(run(*arguments, "--json"))
        assert partition(shown, 0)["to"] == 4
        assert note in partition(shown, 0)["note"]
        assert shown["again"]["events_seen"] == 2


def test_an_empty_range_changes_nothing(own: OwnTopics, run: Run) -> None:
    """Also when it is executed."""
    own.produce_events(0, 3)
    stands(own, p0=3, p1=0)
    result = run("--to-offset", "0:3", "--execute")
    assert result.exit_code == 0
    assert "Nothing to set: the group stands there." in result.stdout
    assert where(own) == {0: 3, 1: 0}


def test_a_time_in_the_future_skips_and_needs_a_word_of_its_own(own: OwnTopics, run: Run) -> None:
    """Loss is said loudly and by its number; without `--skip` nothing is written, with it the group is at the end."""
    own.produce_events(0, 4)
    stands(own, p0=1, p1=0)
    future = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    shown = run("--to-time", future)
    assert shown.exit_code == 0
    assert "SKIPPED: 3 events would never be delivered" in shown.stderr
    assert "no record is of then or later: to the end" in shown.stdout
    assert "--execute sets the offsets, with --skip" in shown.stdout
    refused = run("--to-time", future, "--execute")
    assert refused.exit_code == 1
    assert "would skip 3 events" in refused.stderr
    assert where(own) == {0: 1, 1: 0}
    done = parsed(run("--to-time", future, "--execute", "--skip", "--json"))
    assert done["written"]
    assert done["skipped"]["types"] == {"order.created": 3}
    assert where(own) == {0: 4, 1: 0}


def test_cases_31_where_to_begin_can_be_chosen(own: OwnTopics, run: Run) -> None:
    """A group without offsets, as before its first start or after they expired, would read everything."""
    own.produce_events(0, 5)
    shown = parsed(run("--to-offset", "0:3", "--execute", "--skip", "--json"))
    assert partition(shown, 0)["from"] is None
    assert "nothing is committed: workers would begin at 0" in partition(shown, 0)["note"]
    assert where(own) == {0: 3}


def test_a_huge_range_is_looked_at_in_part_and_says_so(own: OwnTopics, run: Run) -> None:
    """`--look` bounds it; numbers of all of it are upper ones then."""
    own.produce_events(0, 200)
    stands(own, p0=200)
    shown = parsed(run("--to-earliest", "--look", "50", "--json"))
    assert shown["counted"] == "sample"
    assert (shown["again"]["events_at_most"], shown["again"]["events_seen"]) == (200, 50)
    told = run("--to-earliest", "--look", "50")
    assert "Read again: 200 events at most." in told.stdout
    assert "sample of 50 events" in told.stdout


def test_without_postgres_it_is_not_executed_unless_told(
    own: OwnTopics, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit trail with holes is none; but Postgres may be what is broken."""
    own.produce_events(0, 3)
    stands(own, p0=3)
    monkeypatch.setenv("OUTBOX_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/none")
    refused = run("--to-earliest", "--execute")
    assert refused.exit_code == 1
    assert where(own) == {0: 3}
    assert parsed(run("--to-earliest", "--execute", "--without-audit", "--json"))["written"]
    assert where(own) == {0: 0, 1: 0}


async def test_what_is_settled_beyond_the_commit_is_passed_over_without_a_reset(
    own: OwnTopics, worker: WorkerBench
) -> None:
    """INV-8: what the reset below has to forget, a worker that starts otherwise believes."""
    own.produce_events(0, 10)
    GroupOffsets(own.servers).put(topics.WORKER_GROUP, topics.EVENTS, {0: 3}, metadata=encode(3, [(5, 9)]))
    await worker.start()
    await worker.until(lambda: len(worker.target.begun) >= 3, what="three events")
    assert worker.begun() == [3, 4, 9]


async def test_after_it_a_worker_delivers_what_was_settled_beyond_the_commit_too(
    own: OwnTopics, run: Run, worker: WorkerBench
) -> None:
    """CASES 36: the metadata of the workers' commits goes with the reset, or those events would be passed over.

    The mark of the reset stays in the commits of whoever comes after it.
    """
    own.produce_events(0, 10)
    beyond = encode(3, [(5, 9)])
    GroupOffsets(own.servers).put(topics.WORKER_GROUP, topics.EVENTS, {0: 3}, metadata=beyond)
    shown = parsed(await asyncio.to_thread(run, "--to-offset", "0:1", "--execute", "--json"))
    assert shown["again"]["events_seen"] == 2 + 4
    await worker.start()
    await worker.until(lambda: len(worker.target.begun) >= 9, what="nine events")
    assert worker.begun() == list(range(1, 10))
    await worker.stop()
    kept = await asyncio.to_thread(committed, own.servers, topics.WORKER_GROUP)
    assert kept[topics.EVENTS, 0].offset == 10
    # The worker carries the mark on.
    assert len(reset_mark(kept[topics.EVENTS, 0].metadata)) == len(str(UUID(int=0)))
