"""`python -m streams.cli`: the same as `outbox`, where the script is not on PATH."""

from streams.cli.main import app

app(prog_name="outbox")
