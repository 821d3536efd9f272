"""Records on `outbox.endpoints`: an endpoint that can be sent to, or one short error for the feed to log."""

from dataclasses import replace
from typing import Any

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.endpoint import Endpoint
from connectors.webhook.errors import EndpointInvalidError
from connectors.webhook.payload_filter import PayloadFilter
from connectors.webhook.wire import encode_request
from tests.fuzz.mutation import any_text, mutated, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.unit.webhook.records import SECRET, endpoint, request

MARK = SECRET.reveal().removeprefix("whsec_")
LIMITED = replace(
    endpoint("https://bücher.example/in?token=hunter2", event_types=("order.*", "invoice.paid")),
    concurrency=4,
    rate_limit_per_s=0.5,
    payload_filter=PayloadFilter.of({"a": ["x", None, {"numeric": [">=", 1, "<", 2.5]}], "b": {"c": [1.0]}}),
)
RECORDS = [
    endpoint().to_json(),
    LIMITED.to_json(),
    endpoint(secrets=(SECRET, SECRET)).to_json(),
]
FIELDS: dict[str, Any] = orjson.loads(RECORDS[1])
#: Whatever JSON may stand in the place of a field.
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def read(text: bytes) -> Endpoint | None:
    """The endpoint; None where the record is refused, in words that fit into a log line."""
    found = read_or_refused(lambda: Endpoint.from_json(text), EndpointInvalidError)
    if isinstance(found, EndpointInvalidError):
        assert len(str(found)) <= 3_500
        assert "hunter2" not in str(found)
        return None
    return found


def assert_usable(one: Endpoint) -> None:
    assert Endpoint.from_json(one.to_json()) == one
    assert one.subscribes_to("order.created") in {True, False}
    assert b"\r\nhost: " in encode_request(request(one), user_agent="test/1")
    assert SECRET.reveal() not in repr(one)
    assert "token=hunter2" not in repr(one).replace(one.description, "")


@FUZZ
@given(mutated(RECORDS) | st.binary(max_size=60))
@example(b'{"id":' + b"[" * 100_000)
@example(b'{"id": "' + b"hunter2" * 100_000 + b'"}')
@example(b'{"id": 1e999}')
@example(b"\xef\xbb\xbf{}")
def test_any_bytes_are_an_endpoint_or_refused(text: bytes) -> None:
    """CASES 41: the feed has one error to catch; what passes is an endpoint that can be sent to and written again."""
    one = read(text)
    if one is not None:
        assert_usable(one)


@st.composite
def changed_fields(draw: st.DrawFn) -> dict[str, Any]:
    fields = dict(FIELDS)
    for name in draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True)):
        value = FIELDS[name]
        text = value if isinstance(value, str) else "whsec_" if name == "secrets" else "order.*"
        writable = mutated_text([text]).map(lambda found: found.encode(errors="replace").decode())
        match draw(st.integers(0, 3)):
            case 0:
                fields[name] = draw(ANY_JSON)
            case 1:
                fields[name] = draw(writable)
            case 2:
                fields[name] = draw(st.lists(writable, max_size=10))
            case _:
                fields.pop(name)
    return fields


@FUZZ
@given(changed_fields())
@example({**FIELDS, "description": "\0"})
@example({**FIELDS, "created_at": "9999-12-31T23:59:59.999999-23:59"})
@example({**FIELDS, "created_at": "0001-01-01T00:00:00+23:59"})
def test_any_fields_are_an_endpoint_or_refused_without_its_secret(fields: dict[str, Any]) -> None:
    """INV-9: fields missing, of another type, too many, nearly right: the error names one, and shows no secret."""
    text = orjson.dumps(fields)
    one = read_or_refused(lambda: Endpoint.from_json(text), EndpointInvalidError)
    if isinstance(one, EndpointInvalidError):
        assert MARK not in str(one)
        assert one.__cause__ is None or MARK not in str(one.__cause__)
        assert len(str(one)) <= 3_500
        return
    assert_usable(one)


@FUZZ
@given(description=any_text | mutated_text(["orders of ACME"]), url=mutated_text([FIELDS["url"]]))
@example(description="\udcff", url="https://receiver.example/in")
def test_what_a_person_enters_can_be_stored_and_told_or_is_refused(description: str, url: str) -> None:
    """An endpoint that exists can be written: text from a terminal may hold bytes that are no UTF-8."""
    one = read_or_refused(
        lambda: Endpoint(
            id="ep_1",
            url=url,
            event_types=endpoint().event_types,
            secrets=(SECRET,),
            description=description,
            created_at=endpoint().created_at,
        ),
        EndpointInvalidError,
    )
    if isinstance(one, EndpointInvalidError):
        assert len(str(one)) <= 300
        return
    assert_usable(one)
    assert "\0" not in one.to_json().decode() + one.description
