"""Secrets at rest: are they sealed, and can they be opened with the keys at hand? Pure.

Place in the data's way: after the facts. The keys are those of who runs the doctor: the workers should have the same.
"""

from collections.abc import Iterator

from connectors.counted import counted
from connectors.webhook.key_ring import PLAIN
from streams.doctor.facts import DatabaseFacts, Facts
from streams.doctor.finding import Finding, error, ok, warning

__all__ = ["check"]

_CHECK = "sealing"


def check(facts: Facts) -> Iterator[Finding]:
    """Check what endpoints keep secret."""
    if not isinstance(facts.database, DatabaseFacts):
        return  # which has its own finding
    keys = facts.settings.key_ring()
    plain = sum(sealing.count for sealing in facts.database.sealings if sealing.key_id is None)
    sealed = {one.key_id: one.count for one in facts.database.sealings if one.key_id is not None}
    missing = {key_id: count for key_id, count in sealed.items() if not keys.holds(key_id)}
    for key_id, count in missing.items():
        yield error(
            _CHECK,
            f"{counted(count, 'secret')} sealed with the key {key_id}, which OUTBOX_ENCRYPTION_KEYS lacks here",
            why="A worker that lacks it, too, lets the deliveries of these endpoints wait until they are too old.",
            do="Add the key, behind the first one; if it is lost, rotate the secrets of its endpoints.",
        )
    if plain and keys:
        yield warning(
            _CHECK,
            f"{counted(plain, 'secret')} stored as plain text",
            why="They are from before there was a key. Postgres, Kafka and their backups hold them readable.",
            do="Run outbox endpoints reseal.",
        )
    elif plain and facts.settings.encryption_keys.get_secret_value() != PLAIN:
        yield warning(
            _CHECK,
            f"{counted(plain, 'secret')} stored as plain text: OUTBOX_ENCRYPTION_KEYS is not set",
            why="Postgres, Kafka and their backups hold them readable.",
            do="Make a key with outbox endpoints new-key (docs/howto/rotate-secrets-and-keys.md), or choose plain.",
        )
    elif plain:
        yield ok(
            _CHECK, f"{counted(plain, 'secret')} stored as plain text, as OUTBOX_ENCRYPTION_KEYS chooses"
        )
    elif not missing:
        yield ok(_CHECK, f"{counted(sum(sealed.values()), 'secret')} sealed, none stored as plain text")
