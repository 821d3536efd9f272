"""`outbox endpoints recover`: what an endpoint should have got since a time, and has not."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from connectors.postgres.connection import connect
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.replay_run import carry_out
from streams.cli.shown import TIME_HELP, moment
from streams.replay.pace import DEFAULT_RATE_PER_S, LEAST_RATE_PER_S, MOST_RATE_PER_S
from streams.replay.requests import request_recovery
from streams.settings import load_settings

__all__ = ["DETACH_HELP", "KEY_HELP", "recover"]

KEY_HELP = (
    "A text of your own: repeated with it and the same times, the command makes no second replay, and follows the "
    "first. A time like 24h is another one each time: give it as a date."
)
DETACH_HELP = "Only ask for it: an `outbox api` carries it out."


def recover(
    endpoint_id: Annotated[str, typer.Argument(metavar="ID", help="The endpoint, ep_….")],
    *,
    since: Annotated[str, typer.Option(metavar="TIME", help=f"Events committed then or later: {TIME_HELP}.")],
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Events committed before then, given likewise.",
            show_default="all there are when it starts",
        ),
    ] = None,
    rate: Annotated[
        float,
        typer.Option(
            metavar="N",
            min=LEAST_RATE_PER_S,
            max=MOST_RATE_PER_S,
            help="How many are sent a second, at most.",
        ),
    ] = DEFAULT_RATE_PER_S,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help=KEY_HELP)] = None,
    detach: Annotated[bool, typer.Option("--detach", help=DETACH_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Send an endpoint what it should have got since a time, and has not.

    Events that it wants as it is now, but for those whose delivery has succeeded or is under way, by the delivery log:
    it needs a recorder. For an endpoint that was disabled, failed, or did not exist then; at most what Kafka still has.
    """
    begin, end = moment(since, option="--since"), None if until is None else moment(until, option="--until")
    if begin > datetime.now(UTC):
        raise typer.BadParameter(
            "this is in the future: there is nothing to recover yet", param_hint="--since"
        )
    if end is not None and end <= begin:
        raise typer.BadParameter("this is not after --since: no event is between them", param_hint="--until")
    with said_plainly():
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        with connect(settings.database_url.get_secret_value()) as connection:
            replay = request_recovery(
                connection,
                endpoint_id,
                since=begin,
                until=end,
                rate_per_s=rate,
                actor=cli_actor(),
                idempotency_key=key,
            )
        carry_out(settings, replay, as_json=as_json, detach=detach)
