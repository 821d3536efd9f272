"""Questions to the delivery log over HTTP: a statement that asks just that, or a problem that has a name. No 500."""

from dataclasses import asdict
from datetime import UTC
from typing import get_args

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.postgres.delivery_log import page_statement
from connectors.postgres.errors import CursorInvalidError
from connectors.postgres.log_rows import DeliveryStatus
from connectors.postgres.logged_delivery import DeliveryQuery
from outbox.event_type import is_event_type
from streams.api.delivery_operations import delivery_query
from streams.api.models import DeliveriesQuery
from streams.api.problem import ProblemError
from streams.api.validation import read_query
from streams.records.target import parse_target
from tests.fuzz.mutation import any_text, mutated_text
from tests.fuzz.profile import FUZZ
from tests.fuzz.refusal import read_or_refused
from tests.fuzz.test_api_requests import MARK, problem_of

#: What each parameter of a question to the log may be.
QUESTION = {
    "endpoint_id": "ep_1",
    "target": f"handler:{MARK}",
    "event_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "event_type": "order.created",
    "status": "failed,retrying",
    "since": "2026-11-30T14:00:00Z",
    "until": "2026-11-30t14:00:00.123456789+01:00",
    "cursor": "01900000-0000-8f19-98be-2d84303fd084",
}


@st.composite
def questions(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Some parameters with values of their own kind, of which one at most is mutated."""
    names = draw(st.lists(st.sampled_from(sorted(QUESTION)), min_size=1, max_size=4, unique=True))
    pairs = [(name, QUESTION[name]) for name in names]
    return [(names[0], draw(mutated_text([QUESTION[names[0]]]) | any_text)), *pairs[1:]]


@FUZZ
@given(
    st.lists(
        st.tuples(
            mutated_text(sorted(QUESTION)),
            mutated_text(sorted(QUESTION.values())) | any_text,
        ),
        max_size=5,
    )
    | questions()
)
@example([("since", "0001-01-01T00:00:00+23:59"), ("until", "9999-12-31T23:59:59-23:59")])
@example([("status", "failed,"), ("status", MARK)])
@example([("cursor", "ffffffff-ffff-8fff-bfff-ffffffffffff")])
def test_any_question_to_the_log_is_a_statement_or_a_problem(pairs: list[tuple[str, str]]) -> None:
    """Bounded, with whole values of the right kinds and in UTC; what is not understood is not passed over."""
    found = read_or_refused(lambda: delivery_query(read_query(DeliveriesQuery, pairs)), ProblemError)
    if not isinstance(found, DeliveryQuery):
        assert problem_of(found) is not None
        return
    for moment in (found.since, found.until):
        assert moment is None or moment.tzinfo is UTC
    assert found.statuses <= set(get_args(DeliveryStatus))
    assert found.event_type is None or is_event_type(found.event_type)
    assert found.target is None or parse_target(found.target).name.isascii()
    filters = {name for name, _ in pairs} - {"cursor"}
    assert len(filters) == sum(value not in (None, frozenset()) for value in asdict(found).values())
    cursor = dict(pairs).get("cursor")
    statement = read_or_refused(lambda: page_statement(found, limit=200, cursor=cursor), CursorInvalidError)
    if not isinstance(statement, CursorInvalidError):
        assert statement[1]["limit"] == 201
        assert "\0" not in "".join(value for value in statement[1].values() if isinstance(value, str))
