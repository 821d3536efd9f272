"""Faults of producing: the broker takes no outcome record for a while, with and without a crash in the middle of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from streams import topics
from tests.faults.harness.facts import Fault
from tests.faults.harness.kinds.kind import SESSION_S, THEIRS_S, Kind, now_ms
from tests.faults.harness.site import Site

__all__ = ["ProduceRefused"]

_ANSWER_S = 15.0
_LIMIT = "max.message.bytes"
_TOPICS = (topics.ATTEMPTS, topics.DEAD_LETTER, topics.REDELIVERY)


@dataclass(frozen=True, slots=True)
class ProduceRefused(Kind):
    """Topics that take no record of more than a byte refuse every one.

    With `killing`, every worker is killed while it holds outcomes that Kafka has not taken.
    """

    lasts_s: float
    killing: bool
    called: ClassVar[str] = "produce refused"
    felt_for_s: float = SESSION_S + 1.0
    recovery_limit_s: float | None = THEIRS_S

    def strike(self, site: Site) -> Fault:
        began_ms = now_ms()
        commits, struck_ms = None, None
        with _refusing(site.kafka, (*_TOPICS, *site.ground.retry_topics)):
            time.sleep(self.lasts_s)
            if self.killing:
                killed_ms = now_ms()
                for member in site.fleet.names("worker"):
                    site.fleet.kill(member)
                struck_ms = killed_ms, now_ms()
                commits = site.commits("worker")
        detail = f"for {self.lasts_s:g} s" + (", then kill -9 of all workers" if self.killing else "")
        return self.fault(detail, began_ms=began_ms, healed_ms=now_ms(), repeats=commits, struck_ms=struck_ms)


@contextmanager
def _refusing(bootstrap_servers: str, names: Sequence[str]) -> Iterator[None]:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 4})
    asked = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name) for name in names])
    before = {topic.name: found.result(_ANSWER_S)[_LIMIT].value for topic, found in asked.items()}
    _limit(admin, dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        _limit(admin, before)


def _limit(admin: AdminClient, limits: Mapping[str, str]) -> None:
    resources = [
        ConfigResource(
            ConfigResource.Type.TOPIC,
            name,
            incremental_configs=[ConfigEntry(_LIMIT, limit, incremental_operation=AlterConfigOpType.SET)],
        )
        for name, limit in limits.items()
    ]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(_ANSWER_S)
