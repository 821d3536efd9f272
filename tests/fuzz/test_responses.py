"""Responses out of any bytes, cut in any way: an outcome within bounds, and the next one is not touched by it."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from connectors.webhook.answer import NoAnswerReason, Stage
from connectors.webhook.limits import Limits
from connectors.webhook.reply import Failure, Reply
from connectors.webhook.response import ResponseReader
from tests.fuzz.mutation import BYTES, mutated, pieces_of
from tests.fuzz.profile import FUZZ
from tests.fuzz.seeds import RESPONSES

LIMITS = Limits(response_head_bytes=2_000, response_bytes=8_000, excerpt_bytes=40)
#: What HTTP is made of, and what two readers of it understood differently.
TOKENS = (
    *BYTES,
    b"HTTP/1.1 204 No\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.0 ",
    b"HTTP/2.0 ",
    b"HTTP/1.1 000 No\r\n",
    b"content-length: 0\r\n",
    b"content-length: 18446744073709551616\r\n",
    b"content-length: +5\r\n",
    b"Content-Length : 5\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: chunked, identity\r\n",
    b"transfer-encoding:\x0bchunked\r\n",
    b"upgrade: x\r\nconnection: upgrade\r\n",
    b"connection: close\r\n",
    b"connection: keep-alive\r\n",
    b"content-encoding: gzip\r\n",
    b"retry-after: 7\r\n",
    b"ffffffffffffffff1\r\n",
    b"0\r\n\r\n",
    b'5;ext="\r\n',
    b" folded\r\n",
    b"\r",
    b"\r\n\r\n",
)
ANY_BYTES = (
    mutated(RESPONSES, TOKENS)
    | st.binary(max_size=200)
    | st.binary(max_size=80).map(b"HTTP/1.1 200 OK\r\n".__add__)
)
CUTS = st.lists(st.integers(1, 60), min_size=1, max_size=4)
NEXT = b"HTTP/1.1 299 Next\r\ncontent-length: 4\r\n\r\nnext"


def read(pieces: Sequence[bytes], *, is_orderly: bool = True) -> tuple[ResponseReader, int]:
    """A reader that was fed until it had its outcome, as a connection does; and how many bytes that took."""
    reader, fed_bytes = ResponseReader(LIMITS), 0
    for piece in pieces:
        reader.feed(piece)
        fed_bytes += len(piece)
        if reader.outcome is not None:
            return reader, fed_bytes
    reader.end_of_stream(is_orderly=is_orderly)
    return reader, fed_bytes


@FUZZ
@given(raw=ANY_BYTES, cuts=CUTS, is_orderly=st.booleans())
@example(raw=b"HTTP/1.1 301 Moved\r\nlocation: /" + b"a" * 1_500 + b"\r\n\r\n", cuts=[60], is_orderly=True)
def test_any_bytes_come_to_an_outcome_within_bounds(raw: bytes, cuts: list[int], is_orderly: bool) -> None:  # noqa: FBT001 - drawn
    """CASES 18: whatever is sent and however it is cut, what is kept of it is bounded and what is told quotes none."""
    reader, fed_bytes = read(pieces_of(raw, cuts), is_orderly=is_orderly)
    assert fed_bytes < LIMITS.response_bytes + max(cuts)
    match reader.outcome:
        case Reply() as reply:
            assert 0 <= reply.status <= 999
            assert not 100 <= reply.status < 200 or reply.status == 101
            assert len(reply.excerpt) <= LIMITS.excerpt_bytes
            assert all(text is None or len(text) <= 1_024 for text in (reply.retry_after, reply.location))
        case Failure() as failure:
            assert not reader.is_reusable
            assert failure.is_unanswered_loss == (not raw)
            assert failure.stage is (Stage.ANSWER if raw else Stage.SENT)
            assert len(failure.detail) <= 200
            assert "hunter2" not in failure.detail
        case None:
            raise AssertionError("the end of the stream settled nothing")


@FUZZ
@given(raw=ANY_BYTES, cuts=CUTS)
@example(raw=b"HTTP/1.1 200 OK\r\ncontent-encoding: deflate\r\n\r\nKL", cuts=[1])
def test_where_the_network_cuts_changes_nothing(raw: bytes, cuts: list[int]) -> None:
    """One byte at a time or all at once: the same reply, or a failure for the same reason."""
    if len(raw) >= LIMITS.response_head_bytes:
        return  # over a bound, where it is cut decides how much of it was read
    whole, cut = read([raw] if raw else [])[0].outcome, read(pieces_of(raw, cuts))[0].outcome
    if isinstance(whole, Failure):
        assert isinstance(cut, Failure)
        assert (cut.reason, cut.stage) == (whole.reason, whole.stage)
        return
    assert isinstance(whole, Reply)
    assert isinstance(cut, Reply)
    if b"encoding" in raw.lower():
        # A compressed body that breaks gives what was decoded before the piece with the break in it.
        assert cut.excerpt.startswith(whole.excerpt)
        cut = replace(cut, excerpt=whole.excerpt, is_excerpt_whole=whole.is_excerpt_whole)
    assert cut == whole


@FUZZ
@given(raw=ANY_BYTES, cuts=CUTS)
@example(raw=b"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 2", cuts=[100])
@example(raw=b"HTTP/1.1 204 No\r\n\r\n\r\n", cuts=[100])
def test_no_answer_touches_the_next_on_its_connection(raw: bytes, cuts: list[int]) -> None:
    """A connection that may be used again gives exactly the next response, and nothing of the last."""
    reader, _ = read(pieces_of(raw, cuts))
    if not reader.is_reusable:
        return
    assert isinstance(reader.outcome, Reply)
    reader.begin()
    reader.feed(NEXT)
    assert reader.outcome == Reply(299, None, None, b"next", is_excerpt_whole=True)
    assert reader.is_reusable


@FUZZ
@given(raw=ANY_BYTES, cuts=CUTS, cut_off_after=st.integers(0, 300))
def test_a_deadline_at_any_byte_is_an_outcome(raw: bytes, cuts: list[int], cut_off_after: int) -> None:
    """Time may be up at any moment: with a head the status counts, without one the reason does."""
    reader = ResponseReader(LIMITS)
    for piece in pieces_of(raw[:cut_off_after], cuts):
        if reader.outcome is None:
            reader.feed(piece)
    before = reader.outcome
    reader.cut_off(NoAnswerReason.TOTAL_TIMEOUT, "time was up")
    assert reader.outcome is not None
    assert before is None or reader.outcome == before
    reader.end_of_stream(is_orderly=False)
    assert before is None or reader.outcome == before


def test_a_trailer_is_no_header() -> None:
    """RFC 9110, 6.5.1: what comes behind the body does not count as a header."""
    sent = b"HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n0\r\nretry-after: 7\r\nlocation: /x\r\n\r\n"
    assert read([sent])[0].outcome == Reply(503, None, None, b"", is_excerpt_whole=True)
