"""Which source a replay has: the table of kinds.

Place in the data's way: between a stored replay and the replayer. A further kind is a further entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from connectors.kafka.places_reader import PlacesReader
from connectors.kafka.read_record import RecordReader
from connectors.kafka.topic_offsets import TopicOffsets
from connectors.postgres.redrives import RedriveStore
from connectors.postgres.replay_claim import ReplayClaim
from connectors.postgres.stored_replay import Replay, ReplayKind
from streams import topics
from streams.errors import ReplayRefused
from streams.records.target import parse_target
from streams.replay.completeness import KeptCompleteness
from streams.replay.letters_source import LettersSource
from streams.replay.places_source import PlacesSource
from streams.replay.range_ports import range_ports
from streams.replay.range_selection import RangeSelection
from streams.replay.range_source import RangeSource
from streams.replay.recovery_ports import DatabaseAndKafka
from streams.replay.recovery_source import RecoverySource
from streams.replay.selection import PlacesSelection, RecoverySelection
from streams.replay.source import Source
from streams.settings import Settings

__all__ = ["CLIENT", "Sources"]

CLIENT: Final = "outbox-replayer"
"""How brokers' logs name who replays."""


class Sources:
    """Makes them.

    Args:
        settings: where Kafka is, and how long the delivery log keeps.
        offsets: asked about Kafka's topics.
        kept: what recoveries have noted so far, shared by the threads of a process.
    """

    def __init__(
        self, settings: Settings, *, offsets: TopicOffsets, kept: KeptCompleteness | None = None
    ) -> None:
        self._settings = settings
        self._kept = kept or KeptCompleteness(offsets)
        self._offsets = offsets
        self._kinds: Mapping[ReplayKind, Callable[[Replay, ReplayClaim], Source]] = {
            "resend": self._places,
            "redrive": self._letters,
            "recovery": self._recovery,
            "range": self._range,
        }

    def __call__(self, replay: Replay, claim: ReplayClaim) -> Source:
        """The source of a claimed replay.

        Raises:
            ReplayRefused: this version knows no such kind.
        """
        make = self._kinds.get(replay.kind)
        if make is None:
            raise ReplayRefused(f"This version can't execute a replay of kind {replay.kind}. Upgrade it.")
        return make(replay, claim)

    def _places(self, replay: Replay, _claim: ReplayClaim) -> Source:
        reader = RecordReader(self._settings.kafka_bootstrap_servers, client_id=CLIENT)
        return PlacesSource(PlacesSelection.from_json(replay.selection), reader=reader)

    def _letters(self, replay: Replay, claim: ReplayClaim) -> Source:
        reader = PlacesReader(
            self._settings.kafka_bootstrap_servers,
            topic=topics.DEAD_LETTER,
            client_id=CLIENT,
            offsets=self._offsets,
        )
        return LettersSource(replay.id, store=RedriveStore(claim.connection), reader=reader)

    def _range(self, replay: Replay, claim: ReplayClaim) -> Source:
        selection = RangeSelection.from_json(replay.selection)
        ports = range_ports(
            claim.connection,
            selection,
            bootstrap_servers=self._settings.kafka_bootstrap_servers,
            offsets=self._offsets,
            log_retention_days=self._settings.log_retention_days,
        )
        return RangeSource(selection, ports=ports)

    def _recovery(self, replay: Replay, claim: ReplayClaim) -> Source:
        target = parse_target(replay.target or "")
        return RecoverySource(
            RecoverySelection.from_json(replay.selection),
            target=target,
            ports=DatabaseAndKafka(
                claim.connection,
                endpoint_id=target.name,
                bootstrap_servers=self._settings.kafka_bootstrap_servers,
                offsets=self._offsets,
                log_retention_days=self._settings.log_retention_days,
            ),
            completeness=self._kept.of(replay.id, others=claim.recovered_so_far(replay.target or "")),
        )
