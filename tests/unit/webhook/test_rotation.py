"""Rotating secrets, and what an endpoint's record keeps of it."""

from dataclasses import replace
from datetime import timedelta

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.webhook.confidential import Confidential
from connectors.webhook.endpoint import MAX_SECRETS, Endpoint
from connectors.webhook.errors import (
    EndpointInvalidError,
    SecretInvalidError,
    SecretLockedError,
    TooManySecretsError,
)
from connectors.webhook.key_ring import NO_KEYS, EncryptionKey, KeyRing
from connectors.webhook.rotation import rotated
from connectors.webhook.secret import Secret
from connectors.webhook.wire import encode_request
from tests.unit.webhook.records import NOW, SECRET, endpoint, request

RING = KeyRing([EncryptionKey("k1", b"1" * 32)])
HOUR = timedelta(hours=1)
OLD, NEW, NEWEST = (Secret(letter * 32) for letter in (b"o", b"n", b"w"))


def signature_count(one: Endpoint, after: timedelta) -> int:
    head = encode_request(request(one, timestamp=NOW + after), user_agent="test/1")
    [line] = [line for line in head.split(b"\r\n") if line.startswith(b"webhook-signature: ")]
    return len(line.split(b" ")) - 1


def test_an_old_secret_signs_until_its_end_and_no_longer() -> None:
    """Whoever signs drops it by itself, at the very second; the newest has no end."""
    one = endpoint(secrets=rotated((OLD,), NEW, now=NOW, overlap=24 * HOUR))
    assert one.secrets[0] == NEW
    for after, count in (
        (timedelta(0), 2),
        (24 * HOUR - timedelta(seconds=1), 2),
        (24 * HOUR, 1),
        (99 * HOUR, 1),
    ):
        assert signature_count(one, after) == count


def test_a_second_rotation_lengthens_no_overlap() -> None:
    """An old secret keeps the end that it had, unless the new one is earlier; what has ended is left out."""
    first = rotated((OLD,), NEW, now=NOW, overlap=2 * HOUR)
    later = rotated(first, NEWEST, now=NOW + HOUR, overlap=24 * HOUR)
    assert [secret.expires_at for secret in later] == [None, NOW + 25 * HOUR, NOW + 2 * HOUR]
    sooner = rotated(first, NEWEST, now=NOW, overlap=HOUR)
    assert [secret.expires_at for secret in sooner] == [None, NOW + HOUR, NOW + HOUR]
    assert len(rotated(first, NEWEST, now=NOW + 3 * HOUR, overlap=HOUR)) == 2
    assert rotated(first, NEWEST, now=NOW, overlap=timedelta(0)) == (NEWEST,)


def test_a_repeated_rotation_changes_nothing_and_an_old_secret_can_come_back() -> None:
    """To the newest: nothing. To one that is ending: it is the newest again, once."""
    first = rotated((OLD,), NEW, now=NOW, overlap=HOUR)
    assert rotated(first, NEW, now=NOW, overlap=timedelta(0)) == first
    back = rotated(first, OLD, now=NOW, overlap=HOUR)
    assert [secret.key for secret in back] == [OLD.key, NEW.key]
    assert back[0].expires_at is None


def test_more_secrets_than_can_sign_are_refused() -> None:
    """What to do is said; nothing is dropped in silence."""
    secrets: tuple[Secret, ...] = (OLD,)
    for number in range(1, MAX_SECRETS):
        secrets = rotated(secrets, Secret(bytes([number]) * 32), now=NOW, overlap=HOUR)
    with pytest.raises(TooManySecretsError, match="rotate without an overlap"):
        rotated(secrets, NEW, now=NOW, overlap=HOUR)


@given(st.booleans(), st.none() | st.datetimes().map(lambda moment: moment.replace(tzinfo=NOW.tzinfo)))
def test_a_secret_survives_its_record(is_sealed: bool, expires_at: object) -> None:  # noqa: FBT001 - hypothesis gives it
    """Plain or sealed, with an end or without; the sealed record is kept as it is, and opened when it is used."""
    ring = RING if is_sealed else NO_KEYS
    secret = SECRET.until(expires_at)  # type: ignore[arg-type]  # of the strategy above
    record = secret.record(ring, owner="ep_1")
    read = Secret.stored(record, ring=RING, owner="ep_1")
    assert (read, read.reveal()) == (secret, SECRET.reveal())
    assert read.record(ring, owner="ep_1") == record
    assert (SECRET.reveal() in record) is not is_sealed
    assert read.opened().is_current(NO_KEYS)


@pytest.mark.parametrize("end", [";until=x", ";until=", ";until=2026-01-01T00:00"])
def test_an_end_that_cannot_be_read_is_refused(end: str) -> None:
    """Without showing the secret."""
    with pytest.raises(SecretInvalidError) as raised:
        Secret.stored(SECRET.reveal() + end, ring=NO_KEYS, owner="ep_1")
    assert SECRET.reveal() not in str(raised.value)


def full_endpoint() -> Endpoint:
    return replace(
        endpoint(secrets=(NEW, OLD.until(NOW + HOUR))),
        headers=(("authorization", Confidential("Bearer hunter2")), ("x-tenant", Confidential("7"))),
        timeout=timedelta(seconds=2.5),
        schedule=(timedelta(seconds=5), timedelta(minutes=5)),
        max_age=timedelta(hours=3),
    )


def test_a_sealed_endpoint_can_be_read_and_told_again_without_its_key() -> None:
    """Its record is the same text then; only what would send to it needs the key, and its id is known."""
    one = full_endpoint()
    sealed = one.to_json(RING)
    read = Endpoint.from_json(sealed, NO_KEYS)
    assert b"hunter2" not in sealed
    assert NEW.reveal().removeprefix("whsec_").encode() not in sealed
    assert read.to_json(RING) == sealed
    assert read.missing_key_ids == ("k1",)
    opened = Endpoint.from_json(sealed, RING)
    assert opened.missing_key_ids == ()
    assert opened.secrets == one.secrets
    assert [value.reveal() for _, value in opened.headers] == ["Bearer hunter2", "7"]
    assert (opened.timeout, opened.schedule, opened.max_age) == (one.timeout, one.schedule, one.max_age)
    assert Endpoint.from_json(one.to_json()) == one
    assert "hunter2" not in repr(one) + repr(read)


def test_what_is_sealed_opens_at_its_own_endpoint_and_field_only() -> None:
    """Whoever may write to the table can't have one endpoint's secret sent to another as a header."""
    sealed = orjson.loads(full_endpoint().to_json(RING))
    elsewhere = Endpoint.from_json(orjson.dumps(sealed | {"id": "ep_2"}), RING)
    as_header = sealed | {"headers": {"x-a": sealed["secrets"][0]}}
    moved = Endpoint.from_json(orjson.dumps(as_header), RING)
    header = sealed["headers"]
    swapped = sealed | {"headers": {"authorization": header["x-tenant"], "x-tenant": header["authorization"]}}
    for opened in (
        lambda: elsewhere.secrets[0].key,
        moved.headers[0][1].reveal,
        Endpoint.from_json(orjson.dumps(swapped), RING).headers[0][1].reveal,
    ):
        with pytest.raises(SecretLockedError, match="doesn't open it"):
            opened()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"headers": {"host": "hunter2"}}, "reserved"),
        ({"headers": {"x y": "hunter2"}}, "a header name is"),
        ({"headers": {"x-a": "hunter2\r\nb: c"}}, "a header value is"),
        ({"headers": {f"x-{n}": "1" for n in range(17)}}, "17 headers"),
        ({"headers": ["hunter2"]}, "headers is not an object"),
        ({"timeout_s": 0}, "timeout is not above 0"),
        ({"timeout_s": 1e300}, "timeout_s is not a number of seconds"),
        ({"schedule_s": [1] * 101}, "schedule is not up to 100"),
        ({"schedule_s": [True]}, "schedule_s is not a number"),
        ({"schedule_s": 3}, "schedule_s is not a list"),
        ({"max_age_s": "3"}, "max_age_s is not a number"),
        ({"secrets": [f"{SECRET.reveal()};until=2026-03-01T12:00:00+00:00"]}, "the newest secret has an end"),
    ],
)
def test_a_wrong_field_of_a_record_is_named_without_its_value(change: dict[str, object], said: str) -> None:
    """The feed's one error: endpoint and field, and nothing secret (INV-9)."""
    record = orjson.loads(endpoint().to_json()) | change
    with pytest.raises(EndpointInvalidError, match=f"endpoint ep_1: .*{said}") as raised:
        Endpoint.from_json(orjson.dumps(record))
    assert "hunter2" not in str(raised.value)
