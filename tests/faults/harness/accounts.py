"""Where every delivery is in the end, and what its target got: the rules of accounting. Pure.

Expected is what Postgres has committed, for each target that wants it.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tests.faults.harness.case import Case, named

__all__ = ["ACCOUNTS"]

#: A record that nobody has settled or moved for so long after it could be is stuck, not waiting.
_STUCK_MS = 5_000.0
#: The longest tier of a run's ground is shorter than this.
_LONGEST_WAIT_MS = 1_000_000.0
_STANDSTILL_MS = 3_000.0


def lost(case: Case) -> list[str]:
    """INV-1: committed − delivered − dead − waiting."""
    waits = {(record.event_id, record.target or "") for record in case.evidence.waiting}
    return [
        named(delivery)
        for delivery in case.expected
        if not case.taken(delivery)
        and not case.letters[delivery]
        and not case.letters[delivery[0], ""]
        and delivery not in waits
        and (delivery[0], "") not in waits
    ]


def not_arrived(case: Case) -> list[str]:
    """What its target would have taken, and what would have been refused, is at its end; nothing waits for ever.

    When the load has ended, an endpoint gets nothing but what it refuses: its circuit opens, and those wait.
    """
    waits = {(record.event_id, record.target or "") for record in case.evidence.waiting}
    found = []
    for delivery in case.expected:
        arrived = {
            "delivered": case.taken(delivery),
            "dead": bool(case.letters[delivery]) or (delivery in waits and case.put_off(delivery)),
            "waiting": delivery in waits,
            "unserved": delivery in waits or bool(case.letters[delivery]),
        }[case.ends(delivery)]
        found += [] if arrived else [named(delivery)]
    return found


def stuck(case: Case) -> list[str]:
    """What waits although nothing keeps it, or for longer than any tier."""
    ended_ms = case.evidence.ended_ms
    found = []
    for record in case.evidence.waiting:
        due_ms = record.appended_ms if record.due_ms is None else record.due_ms
        if due_ms < ended_ms - _STUCK_MS or due_ms > ended_ms + _LONGEST_WAIT_MS:
            found.append(f"{named((record.event_id, record.target or ''))} in {record.topic}")
    return found


def unwanted(case: Case) -> list[str]:
    """A target got, or was given up for, what it never subscribed to."""
    expected = set(case.expected)
    tried = [delivery for delivery, receipts in case.receipts.items() if receipts]
    buried = [delivery for delivery, letters in case.letters.items() if letters]
    return [named(d) for d in (*tried, *buried) if d[0] in case.rows and d not in expected]


def wrong_bytes(case: Case) -> list[str]:
    """INV-5: what came is what Postgres has."""
    return [
        named(r.delivery)
        for r in case.evidence.receipts
        if r.event_id in case.rows and r.sha256 != case.rows[r.event_id].sha256
    ]


def wrong_signatures(case: Case) -> list[str]:
    """INV-5: by the `standardwebhooks` package, with this endpoint's own secret."""
    return [named(receipt.delivery) for receipt in case.evidence.receipts if not receipt.signed]


def never_committed(case: Case) -> list[str]:
    """What Postgres does not have must not arrive."""
    return [named(r.delivery) for r in case.evidence.receipts if r.event_id not in case.rows]


def wrong_ends(case: Case) -> list[str]:
    """A delivery that its target would have taken is no dead letter, and the other way round."""
    found = []
    for delivery in case.expected:
        ends = case.ends(delivery)
        if ends in {"delivered", "waiting"}:
            found += [f"{named(delivery)}: {letter.code}" for letter in case.letters[delivery]]
        if ends != "delivered" and case.taken(delivery):
            found.append(named(delivery))
    return found


def repeated_letters(case: Case) -> list[str]:
    """A delivery has one dead letter; a crash may repeat it."""
    return [
        f"{named(delivery)}: {len(letters)}"
        for delivery, letters in case.letters.items()
        if delivery[0] in case.rows
        and len(letters) > 1 + case.reopened(delivery) + case.rows_repeated(delivery)
    ]


def poison(case: Case) -> list[str]:
    """Every unreadable record is a dead letter; a crash may repeat it."""
    wanted = sum(fault.poisoned for fault in case.evidence.faults)
    found = sum(1 for letter in case.evidence.letters if letter.code == "EVENT_MALFORMED")
    return [] if wanted <= found <= 2 * wanted else [f"{found} dead letters of {wanted} records"]


def load_stood_still(case: Case) -> list[str]:
    """A run without load shows nothing: only Postgres' absence may stop it."""
    created = sorted(row.created_ms for row in case.evidence.rows)
    first_ms = case.evidence.flowed_ms
    return [
        f"{(after - before) / 1000:.1f} s"
        for before, after in pairwise([first_ms, *(at for at in created if at > first_ms)])
        if after - before > _STANDSTILL_MS
        and not any(
            "postgres" in f"{f.kind} {f.detail}" and f.overlaps(before, after) for f in case.evidence.faults
        )
    ]


def deaths(case: Case) -> list[str]:
    """A process that ended without being told."""
    return list(case.evidence.deaths)


def problems(case: Case) -> list[str]:
    """A fault that did not do what it is for."""
    counted = Counter(
        f"{fault.kind}: {problem}" for fault in case.evidence.faults for problem in fault.problems
    )
    return list(counted.elements())


def leaks(case: Case) -> list[str]:
    """INV-9: no secret and no payload in a log."""
    return [f"{log}: {', '.join(words)}" for log, words in case.evidence.leaks.items() if words]


ACCOUNTS = {
    "lost": lost,
    "not at its end": not_arrived,
    "stuck in a topic": stuck,
    "to who does not want it": unwanted,
    "wrong bytes": wrong_bytes,
    "wrong signatures": wrong_signatures,
    "never committed": never_committed,
    "to the wrong end": wrong_ends,
    "dead letters repeated": repeated_letters,
    "poison not in the dead letters": poison,
    "processes that ended by themselves": deaths,
    "secrets or payloads in logs": leaks,
    "load stood still": load_stood_still,
    "faults that did not do their work": problems,
}
