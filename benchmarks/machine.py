"""What a run was made on: the machine, the versions, and how busy the machine was before it began."""

import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import confluent_kafka
import psutil

from devstack.jars import locked_jars

__all__ = ["Machine", "look_at_machine"]

_PACKAGES = ("outbox-streams", "faust-streaming", "aiokafka", "confluent-kafka", "uvloop", "psycopg")
_JARS = {"kafka_2.13": "Kafka", "debezium-connector-postgres": "Debezium"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A line for each thing worth knowing: name and value."""

    lines: tuple[tuple[str, str], ...]


def look_at_machine(*, postgres_version: str, load_before: tuple[float, float, float]) -> Machine:
    """Look at this machine now."""
    memory_gib = psutil.virtual_memory().total / 2**30
    load_1, load_5, _ = load_before
    return Machine(
        lines=(
            ("CPU", f"{_cpu_model()}, {os.cpu_count()} cores"),
            ("Memory", f"{memory_gib:.0f} GiB"),
            ("System", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"),
            ("Servers", ", ".join([f"Postgres {postgres_version}", *_jar_versions()])),
            ("Packages", ", ".join(_package_versions())),
            ("Commit", _commit()),
            ("Load before the run", f"{load_1:.2f} (1 min), {load_5:.2f} (5 min)"),
        )
    )


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )


def _jar_versions() -> Iterable[str]:
    for jar in locked_jars():
        name = _JARS.get(jar.coordinate.artifact)
        if name is not None:
            yield f"{name} {jar.coordinate.version}"


def _package_versions() -> Iterable[str]:
    for package in _PACKAGES:
        yield f"{package} {version(package)}"
    yield f"librdkafka {confluent_kafka.libversion()[0]}"


def _commit() -> str:
    """Name the checkout's commit, and whether files differ from it."""
    commit = _git("rev-parse", "--short", "HEAD")
    if not commit:
        return "unknown"
    return f"{commit}, with changes" if _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - our own argument list, no shell
            ["git", *arguments],  # noqa: S607 - whichever git the developer has
            cwd=Path(__file__).parent,
            capture_output=True,
            check=False,
            text=True,
        )
    except OSError:
        return ""
    return done.stdout.strip()
