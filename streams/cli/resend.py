"""`outbox deliveries resend`: one delivery once more, whatever became of it."""

from typing import Annotated

import typer

from connectors.kafka.read_record import RecordReader
from connectors.postgres.connection import connect
from streams.cli.endpoint_store import cli_actor
from streams.cli.errors import said_plainly
from streams.cli.recover import DETACH_HELP, KEY_HELP
from streams.cli.replay_run import carry_out
from streams.replay.requests import request_resend
from streams.settings import load_settings

__all__ = ["resend"]


def resend(
    delivery_id: Annotated[str, typer.Argument(metavar="ID", help="The delivery's id, as in the list.")],
    *,
    key: Annotated[str | None, typer.Option(metavar="TEXT", help=KEY_HELP)] = None,
    detach: Annotated[bool, typer.Option("--detach", help=DETACH_HELP)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Send one delivery again, whatever became of it: the same webhook-id, with a fresh budget of attempts.

    It ends when the workers have the delivery. What the target answers, `outbox deliveries show` says.
    """
    with said_plainly():
        settings = load_settings(needs=("database_url", "kafka_bootstrap_servers"))
        with connect(settings.database_url.get_secret_value()) as connection:
            replay = request_resend(
                connection,
                delivery_id,
                actor=cli_actor(),
                idempotency_key=key,
                new_reader=lambda: RecordReader(settings.kafka_bootstrap_servers, client_id="outbox-cli"),
            )
        carry_out(settings, replay, as_json=as_json, detach=detach)
