"""The verdict: what must be, against what was seen. Pure; it believes receivers and database, not the processor.

Every difference is a problem in words, and one problem is enough for a failed demo. The worker's own log of attempts is
compared too: a processor that delivers right and tells it wrong has failed as well.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demo.evidence import Evidence
from demo.expectation import Expectation
from demo.latency import latencies_ms, percentile
from demo.numbers import Numbers, Pair, contacts, count, delivered_pairs
from demo.story import WAREHOUSE

__all__ = ["Verdict", "is_complete", "judge"]

_EXAMPLES = 3
_NOT_AN_ATTEMPT = {"deferred", "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The numbers, the latencies, and all that is wrong."""

    numbers: Numbers
    p50_ms: float
    p99_ms: float
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it must be."""
        return not self.problems

    @property
    def line(self) -> str:
        """The demo's last line, for programs."""
        if not self.ok:
            return f"demo FAILED: {'; '.join(self.problems)}"
        numbers = self.numbers
        return (
            f"demo ok: committed={numbers.committed} delivered={numbers.delivered} retried={numbers.retried}"
            f" dead_lettered={sum(numbers.dead_lettered.values())} lost={numbers.lost}"
            f" p50_ms={self.p50_ms:.1f} p99_ms={self.p99_ms:.1f}"
        )


def is_complete(expected: Sequence[Expectation], evidence: Evidence) -> bool:
    """Whether everything that must come has come. What must not come is for `judge`, after the end."""
    return (
        not _ends_missing(expected, evidence)
        and _expected_retries(expected) <= _seen_retries(evidence)
        and not Counter(_expected_contacts(expected)) - contacts(evidence)
    )


def judge(expected: Sequence[Expectation], evidence: Evidence) -> Verdict:
    """Compare, once everything has been stopped and every topic was read to its end."""
    latencies = latencies_ms(evidence, target=f"endpoint:{WAREHOUSE.endpoint_id}")
    return Verdict(
        numbers=count(expected, evidence),
        p50_ms=percentile(latencies, 50),
        p99_ms=percentile(latencies, 99),
        problems=tuple(_problems(expected, evidence)),
    )


def _problems(expected: Sequence[Expectation], evidence: Evidence) -> Iterator[str]:
    yield from _about("without the end that it must have (lost)", _ends_missing(expected, evidence))
    succeeds = {(item.event_id, item.target) for item in expected if item.code is None}
    yield from _about("succeeded, and must not", _pairs(delivered_pairs(evidence) - succeeds))
    yield from _contact_problems(expected, evidence)
    yield from _dead_letter_problems(expected, evidence)
    yield from _retry_problems(expected, evidence)
    yield from _content_problems(evidence)
    yield from _log_problems(expected, evidence)
    if evidence.orders_stored is not None and evidence.orders_stored != len(evidence.committed):
        yield f"{evidence.orders_stored} orders are stored, but {len(evidence.committed)} events were committed"


def _ends_missing(expected: Sequence[Expectation], evidence: Evidence) -> list[object]:
    delivered = delivered_pairs(evidence)
    buried = {(letter.event_id, letter.target, letter.code) for letter in evidence.dead_letters}
    return [
        _name(item.event_id, item.target)
        for item in expected
        if (
            (item.event_id, item.target) not in delivered
            if item.code is None
            else (item.event_id, item.target, item.code) not in buried
        )
    ]


def _contact_problems(expected: Sequence[Expectation], evidence: Evidence) -> Iterator[str]:
    wanted, seen = Counter(_expected_contacts(expected)), contacts(evidence)
    more = seen - wanted
    strangers = {pair for pair in more if pair not in wanted}
    ghosts = {pair for pair in strangers if pair[0] in evidence.rolled_back}
    yield from _about("rolled back, and arrived nevertheless", _pairs(ghosts))
    yield from _about("arrived where it was never to be sent", _pairs(strangers - ghosts))
    yield from _about("arrived too often (duplicate)", _pairs(more.keys() - strangers))
    yield from _about("arrived too seldom", _pairs(wanted - seen))


def _dead_letter_problems(expected: Sequence[Expectation], evidence: Evidence) -> Iterator[str]:
    wanted = Counter((item.event_id, item.target, item.code) for item in expected if item.code is not None)
    seen = Counter((letter.event_id, letter.target, letter.code) for letter in evidence.dead_letters)
    for (event_id, target, code), times in (seen - wanted).items():
        yield f"{times} dead letters {code} too many for {_name(event_id, target)}"
    payloads = {event.event_id: event.payload for event in evidence.committed}
    changed = [
        letter
        for letter in evidence.dead_letters
        if letter.body != payloads.get(letter.event_id, letter.body)
    ]
    yield from _about(
        "dead letter with other bytes than were appended",
        (_name(letter.event_id, letter.target) for letter in changed),
    )


def _retry_problems(expected: Sequence[Expectation], evidence: Evidence) -> Iterator[str]:
    wanted, seen = _expected_retries(expected), _seen_retries(evidence)
    attempts = {(event_id, target, attempt) for event_id, target, attempt, _ in wanted}
    yield from _about("never waited where it must", (f"{e} in {topic}" for e, _, _, topic in wanted - seen))
    yield from _about(
        "retried, and must not be",
        (f"{_name(e, t)} attempt {n}" for e, t, n, _ in seen if (e, t, n) not in attempts),
    )


def _content_problems(evidence: Evidence) -> Iterator[str]:
    payloads = {event.event_id: event.payload for event in evidence.committed}
    hashes = {event_id: hashlib.sha256(payload).hexdigest() for event_id, payload in payloads.items()}
    receipts, calls = evidence.receipts, evidence.calls
    yield from _about(
        "unsigned or wrongly signed", (_name(r.event_id, r.target) for r in receipts if not r.signed)
    )
    yield from _about(
        "received with other bytes than were appended",
        (_name(r.event_id, r.target) for r in receipts if r.body != payloads.get(r.event_id, r.body)),
    )
    yield from _about(
        "handled with other bytes than were appended",
        (
            _name(c.event_id, c.target)
            for c in calls
            if c.body_sha256 != hashes.get(c.event_id, c.body_sha256)
        ),
    )


def _log_problems(expected: Sequence[Expectation], evidence: Evidence) -> Iterator[str]:
    told: Counter[Pair] = Counter(
        (record.event_id, record.target)
        for record in evidence.attempts
        if record.outcome not in _NOT_AN_ATTEMPT
    )
    wanted = Counter(_expected_contacts(expected))
    differing = {pair for pair in told.keys() | wanted.keys() if told[pair] != wanted[pair]}
    yield from _about("outbox.attempts tells of another number of attempts", _pairs(differing))
    succeeded: set[Pair] = {
        (record.event_id, record.target) for record in evidence.attempts if record.outcome == "succeeded"
    }
    yield from _about(
        "outbox.attempts and the receivers differ about its success",
        _pairs(succeeded ^ delivered_pairs(evidence)),
    )


def _expected_contacts(expected: Sequence[Expectation]) -> dict[Pair, int]:
    return {(item.event_id, item.target): item.attempts for item in expected if item.attempts}


def _expected_retries(expected: Sequence[Expectation]) -> set[tuple[str, str, int, str]]:
    return {
        (item.event_id, item.target, attempt, topic)
        for item in expected
        if item.target is not None
        for attempt, topic in item.retries
    }


def _seen_retries(evidence: Evidence) -> set[tuple[str, str, int, str]]:
    # The first attempt has nothing to wait for, unless it was deferred: no retry, and no fault.
    return {
        (parked.event_id, parked.target, parked.attempt, parked.topic)
        for parked in evidence.parked
        if parked.attempt > 1
    }


def _pairs(pairs: Iterable[Pair]) -> list[str]:
    return sorted(_name(event_id, target) for event_id, target in pairs)


def _name(event_id: str, target: str | None) -> str:
    return f"{event_id} to {target or 'nobody'}"


def _about(what: str, which: Iterable[object]) -> Iterator[str]:
    names = [str(name) for name in which]
    if names:
        more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
        yield f"{len(names)} {what}: {', '.join(names[:_EXAMPLES])}{more}"
