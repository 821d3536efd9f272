"""The id of a delivery: the same from every attempt record, in the order of time, and it says its day."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.epoch import from_epoch_ms
from connectors.postgres.delivery_id import created_at_of, delivery_id

times_ms = st.integers(0, 221_845_392_000_000)


@given(event_id=st.uuids(), target=st.text(st.characters(codec="utf-8")), at_ms=times_ms, later_ms=times_ms)
def test_an_id_is_made_of_what_every_record_says(
    event_id: UUID, target: str, at_ms: int, later_ms: int
) -> None:
    """Two that were made apart are equal, and the time is read back out of them."""
    made = delivery_id(event_id=event_id, target=target, created_at_ms=at_ms)
    assert made == delivery_id(event_id=event_id, target=target, created_at_ms=at_ms)
    assert (made.version, made.variant) == (8, "specified in RFC 4122")
    assert created_at_of(made) == from_epoch_ms(at_ms)
    if at_ms != later_ms:
        later = delivery_id(event_id=event_id, target=target, created_at_ms=later_ms)
        assert (made < later) == (at_ms < later_ms)


@pytest.mark.parametrize(
    "text", ["6fbd21ce-0732-440c-a44b-cea540a298f8", "ffffffff-ffff-8fff-bfff-ffffffffffff"]
)
def test_another_id_has_no_time(text: str) -> None:
    """A UUID of another version, or from after the last day, is no delivery's."""
    assert created_at_of(UUID(text)) is None
