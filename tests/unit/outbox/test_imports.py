"""What `import outbox` costs an application."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

FORBIDDEN: Final = (
    "aiohttp",
    "aiokafka",
    "confluent_kafka",
    "connectors",
    "devstack",
    "faust",
    "pydantic",
    "streams",
    "typer",
    "yoyo",
)


def test_importing_the_library_imports_nothing_of_the_processor() -> None:
    """A web service installs it with psycopg and orjson alone: no Kafka, no settings, no HTTP client."""
    program = f"import sys, outbox; print(*(name for name in {FORBIDDEN} if name in sys.modules))"
    done = subprocess.run(  # noqa: S603 - our own interpreter and program
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []
