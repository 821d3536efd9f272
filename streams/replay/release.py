"""Opening the letters again that a redrive was given and did not send, because it was stopped or has failed.

Place in the data's way: done by the replayers when there is nothing else to do. Invariants: nobody executes the
redrive meanwhile, since its claim is held here, and who lost it before has had time to find out; what stands on
`outbox.redelivery` was sent, and is not opened, so that no letter is sent by two redrives.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from connectors.kafka.errors import KafkaEdgeError
from connectors.postgres.replay_claim import ReplayClaim, ReplayClaims
from connectors.postgres.stored_replay import Replay
from streams.replay.letters_source import LettersSource
from streams.replay.outlet import Outlet, SentKey
from streams.replay.replayer import TAKEOVER_AFTER_S
from streams.replay.source import Source

__all__ = ["release_letters"]

_log = structlog.get_logger("streams.replay")


def release_letters(
    claims: ReplayClaims,
    sources: Callable[[Replay, ReplayClaim], Source],
    new_outlet: Callable[[], Outlet],
    pause: Callable[[float], bool],
) -> bool:
    """Release the letters of one redrive that ended early; False if there is none, or it has to be left for later.

    Args:
        claims: finds it.
        sources: makes what it was to send.
        new_outlet: makes where it was sent.
        pause: lets so many seconds pass; False when the process is to stop instead.

    Raises:
        PostgresError: as Postgres says.
    """
    claim = claims.claim_unreleased()
    if claim is None:
        return False
    with claim:
        replay = claim.replay()
        if replay.sent_offsets is not None and not pause(TAKEOVER_AFTER_S):
            return False
        source = sources(replay, claim)
        assert isinstance(source, LettersSource)  # noqa: S101 - it is a redrive
        try:
            sent = _sent(replay, new_outlet)
        except KafkaEdgeError as error:
            _log.warning("letters_not_released", replay_id=replay.id, error=str(error))
            return False
        finally:
            source.close()
        released = source.release(replay, sent=sent)
        # What is left of it was sent: it is not looked at again.
        claim.advance(
            read=0,
            sent=0,
            skipped=0,
            next_offsets=replay.end_offsets or {},
            sent_from=replay.sent_offsets or {},
        )
        _log.info("letters_released", replay_id=replay.id, count=released)
    return True


def _sent(replay: Replay, new_outlet: Callable[[], Outlet]) -> frozenset[SentKey]:
    """What of its last batch stands on `outbox.redelivery`: nothing, of one that never began."""
    if replay.sent_offsets is None:
        return frozenset()
    outlet = new_outlet()
    try:
        return outlet.sent_since(replay.id, replay.sent_offsets)
    finally:
        outlet.close()
