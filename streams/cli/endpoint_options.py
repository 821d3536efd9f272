"""The options of `outbox endpoints add` and `update` that give an endpoint something of its own.

Place in the data's way: between the command line and the rules of the admin API: what is given here becomes the same
request that the API would be sent, is checked by the same models, and has the same effect.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import orjson
import typer

from connectors.postgres.stored_endpoint import StoredEndpoint
from connectors.webhook.errors import EndpointInvalidError
from streams.api.budgets import BUDGET_FIELDS, check_budgets
from streams.api.endpoint_values import columns, columns_failing_that, patched
from streams.api.models import EndpointChange
from streams.api.problem import ProblemError
from streams.api.validation import read_body
from streams.cli.source import read_source
from streams.duration import parse_duration
from streams.settings import load_settings

__all__ = [
    "Concurrency",
    "Headers",
    "MaxAge",
    "Metadata",
    "OwnFields",
    "PayloadFilterText",
    "RateLimitText",
    "Schedule",
    "Timeout",
    "set_anyhow",
]

_DEFAULT: Final = "default"
_NONE: Final = "none"
_PER_S: Final = {"": 1, "/s": 1, "/m": 60, "/h": 3_600}
_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(/s|/m|/h)?")
_COUNT: Final = re.compile(r"[0-9]{1,9}")

Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="NAME:VALUE|NAME:@FILE|NAME:-",
        help="A header that is sent with each request; a NAME alone removes it. Repeatable. "
        "A value as argument is seen by all users of the machine.",
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE", help="Yours: stored and given back; a KEY alone removes it. Repeatable."
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|default", help="For one attempt, like 2500ms; default: OUTBOX_ENDPOINT_TIMEOUT_S."
    ),
]
Schedule = Annotated[
    str | None,
    typer.Option(
        metavar="DURATIONS|none|default",
        help="The waits between attempts, like 5s,5m,1h; none: one attempt; default: OUTBOX_ENDPOINT_SCHEDULE.",
    ),
]
MaxAge = Annotated[
    str | None,
    typer.Option(
        metavar="DURATION|default",
        help="How old a delivery may become, like 24h; default: OUTBOX_ENDPOINT_MAX_AGE_HOURS.",
    ),
]
Concurrency = Annotated[
    str | None,
    typer.Option(
        metavar="N|default",
        help="Attempts under way at once, over all workers; default: OUTBOX_ENDPOINT_CONCURRENCY, from each of them.",
    ),
]
RateLimitText = Annotated[
    str | None,
    typer.Option(
        "--rate-limit",
        metavar="N|N/m|N/h|none",
        help="Attempts a second, or a minute, or an hour, over all workers.",
    ),
]
PayloadFilterText = Annotated[
    str | None,
    typer.Option(
        "--payload-filter",
        metavar="JSON|@FILE|-|none",
        help="Which payloads it wants, as in docs/reference/payload-filters.md; it takes the place of the one before.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFields:
    """What was given of these options; None: not given."""

    headers: Sequence[str] | None = None
    metadata: Sequence[str] | None = None
    timeout: str | None = None
    schedule: str | None = None
    max_age: str | None = None
    concurrency: str | None = None
    rate_limit: str | None = None
    payload_filter: str | None = None

    def request(self) -> EndpointChange:
        """The change that the API would be asked for.

        Raises:
            EndpointInvalidError: names the field.
            typer.BadParameter: an option can't be read.
        """
        fields: dict[str, Any] = {}
        if self.headers:
            fields["headers"] = dict(_header(text) for text in self.headers)
        if self.metadata:
            fields["metadata"] = dict(_entry(text) for text in self.metadata)
        if self.timeout is not None:
            fields["timeout_s"] = _seconds(self.timeout, "--timeout")
        if self.schedule is not None:
            fields["schedule_s"] = _waits(self.schedule)
        if self.max_age is not None:
            fields["max_age_s"] = _seconds(self.max_age, "--max-age")
        if self.concurrency is not None:
            fields["concurrency"] = _count(self.concurrency)
        if self.rate_limit is not None:
            fields["rate_limit_per_s"] = _rate(self.rate_limit)
        if self.payload_filter is not None:
            fields["payload_filter"] = _filter(self.payload_filter)
        try:
            return read_body(EndpointChange, orjson.dumps(fields))
        except ProblemError as error:
            raise _plain(error) from None

    def applied(self, before: StoredEndpoint, change: EndpointChange, *, new_url: bool) -> StoredEndpoint:
        """The endpoint after the change. What is given, its URL too, must be what the workers can obey.

        Raises:
            EndpointInvalidError: names the field.
        """
        try:
            if "payload_filter" in change.model_fields_set:
                before = patched(before, EndpointChange(payload_filter=None))
            after = patched(before, change)
            if new_url or change.model_fields_set & BUDGET_FIELDS:
                check_budgets(after.endpoint, load_settings())
        except ProblemError as error:
            raise _plain(error) from None
        return after


def set_anyhow(change: EndpointChange) -> dict[str, Any]:
    """What the change sets, whatever was there before, as the row has it: with this, a row that can't be read is."""
    # A filter takes the place of the one before here, which so need not be read.
    return columns(change) | columns_failing_that(change)


def _plain(error: ProblemError) -> EndpointInvalidError:
    lines = [f"{one.name.removeprefix('#/')}: {one.detail}" for one in error.problem.errors]
    return EndpointInvalidError("; ".join(lines) or error.problem.detail)


def _header(text: str) -> tuple[str, str | None]:
    name, colon, value = text.partition(":")
    if not colon:
        return name.strip(), None
    read = read_source(value.strip(), option="--header").decode(errors="replace")
    return name.strip(), read.rstrip("\r\n")


def _entry(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    return key, value if equals else None


def _seconds(text: str, option: str) -> float | None:
    if text == _DEFAULT:
        return None
    try:
        return parse_duration(text).total_seconds()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _waits(text: str) -> list[float] | None:
    if text in {_DEFAULT, _NONE}:
        return None if text == _DEFAULT else []
    waits = [_seconds(part, "--schedule") for part in text.split(",")]
    if None in waits:
        raise typer.BadParameter("default stands alone", param_hint="--schedule")
    return [wait for wait in waits if wait is not None]


def _count(text: str) -> int | None:
    if text == _DEFAULT:
        return None
    if not _COUNT.fullmatch(text):
        raise typer.BadParameter("this is a whole number, or default", param_hint="--concurrency")
    return int(text)


def _rate(text: str) -> float | None:
    """A rate in attempts a second.

    >>> _rate("50"), _rate("30/m"), _rate("none")
    (50.0, 0.5, None)
    """
    if text == _NONE:
        return None
    match = _RATE.fullmatch(text)
    if match is None:
        raise typer.BadParameter("this is a number, like 50, 1/m or 30/h, or none", param_hint="--rate-limit")
    return float(match[1]) / _PER_S[match[2] or ""]


def _filter(text: str) -> object:
    if text == _NONE:
        return None
    try:
        return orjson.loads(read_source(text, option="--payload-filter"))
    except orjson.JSONDecodeError:
        raise typer.BadParameter("this is not JSON", param_hint="--payload-filter") from None
