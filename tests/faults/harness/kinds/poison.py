"""Records that nobody can read, on every topic that a process of ours reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from connectors.kafka.record import OutgoingRecord
from streams import topics
from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import Kind, now_ms
from tests.faults.harness.site import Site
from tests.support.marks import PAYLOAD_MARK
from tests.support.topics import produce

__all__ = ["Poisoned"]

_VALUE = f'{{"mark": "{PAYLOAD_MARK}"'.encode()
_ID = b"01890a5d-ac96-774b-bcce-b302099a8057"


@dataclass(frozen=True, slots=True)
class Poisoned(Kind):
    """Each unreadable record is a dead letter, and all else flows on. An unreadable endpoint changes nothing."""

    called: ClassVar[str] = "poison"
    lasting: bool = True

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        read = (topics.EVENTS, topics.REDELIVERY, site.ground.retry_topics[0])
        poison = [record for topic in read for record in _unreadable(topic)]
        endpoint = OutgoingRecord(
            topic=topics.ENDPOINTS, partition=0, key=b"ep_poison", value=b"{", headers=[]
        )
        produce(site.kafka, [*poison, endpoint])
        return self.fault(f"{len(poison)} unreadable records", began_ms=began_ms, poisoned=len(poison))


def _unreadable(topic: str) -> list[OutgoingRecord]:
    heads: list[list[tuple[str, bytes]]] = [
        [],
        [("id", b"no uuid")],
        [("id", _ID), ("type", b"\xff\xfe")],
    ]
    return [
        OutgoingRecord(topic=topic, partition=0, key=b"k", value=_VALUE, headers=headers) for headers in heads
    ]
