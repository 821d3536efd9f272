"""The locked jars: coordinates and checksums, no download addresses. Reads and writes `debezium/jars.lock.toml`.

Pure: text in, records out, and back. Fetching is `devstack.jars`.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from devstack.errors import JarLockError

__all__ = ["JarCoordinate", "LockedJar", "parse_direct", "parse_lock", "render_lock"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")

_HEADER = """\
# Every jar of the embedded stack and of the Connect image. Written by `python -m devstack.jars lock` from jars.toml.
# In the order of the class path. A jar with another checksum is refused.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarCoordinate:
    """Which jar: Maven's group, artifact and version."""

    group: str
    artifact: str
    version: str

    @classmethod
    def parse(cls, text: str) -> "JarCoordinate":
        """Read `group:artifact:version`.

        >>> JarCoordinate.parse("org.slf4j:slf4j-api:1.7.36").path.as_posix()
        'org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar'

        Raises:
            JarLockError: it is something else. A name can't leave the cache folder: no slash, no leading dot.
        """
        parts = text.split(":")
        if len(parts) != 3 or not all(_NAME.fullmatch(part) for part in parts):  # noqa: PLR2004 - group, artifact, version
            raise JarLockError(f"{text!r} is no jar coordinate: write group:artifact:version")
        return cls(group=parts[0], artifact=parts[1], version=parts[2])

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def path(self) -> PurePosixPath:
        """Where the jar stands below a repository or cache folder: Maven's layout."""
        folder = PurePosixPath(*self.group.split("."), self.artifact, self.version)
        return folder / f"{self.artifact}-{self.version}.jar"


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJar:
    """One jar, and the SHA-256 that its bytes must have."""

    coordinate: JarCoordinate
    sha256: str


def parse_lock(text: str, *, source: str) -> tuple[LockedJar, ...]:
    """The locked jars, in class path order. `source` names the file in errors.

    Raises:
        JarLockError: not TOML, a field is missing or malformed, the list is empty, or a jar is in it twice.
    """
    entries = _table(text, source=source).get("jar", [])
    if not isinstance(entries, list) or not entries:
        raise JarLockError(f"{source} lists no jars: write it anew with `python -m devstack.jars lock`")
    jars = tuple(_locked(entry, source=source) for entry in entries)
    names = [(jar.coordinate.group, jar.coordinate.artifact) for jar in jars]
    for name in names:
        if names.count(name) > 1:
            raise JarLockError(
                f"{source} lists {':'.join(name)} twice: a class path holds one version of a jar"
            )
    return jars


def parse_direct(text: str, *, source: str) -> tuple[JarCoordinate, ...]:
    """The jars asked for by hand in `jars.toml`.

    Raises:
        JarLockError: not TOML, or no list of coordinates under `direct`.
    """
    direct = _table(text, source=source).get("direct")
    if not isinstance(direct, list) or not direct:
        raise JarLockError(f"{source} has no list `direct` of jar coordinates")
    return tuple(JarCoordinate.parse(str(entry)) for entry in direct)


def render_lock(jars: Iterable[LockedJar]) -> str:
    """The lock file's text. `parse_lock` reads the same jars from it."""
    entries = [f'[[jar]]\ncoordinate = "{jar.coordinate}"\nsha256 = "{jar.sha256}"\n' for jar in jars]
    return "\n".join([_HEADER, *entries])


def _table(text: str, *, source: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise JarLockError(f"{source} is not TOML ({error}): restore it with `git checkout`") from error


def _locked(entry: object, *, source: str) -> LockedJar:
    fields = entry if isinstance(entry, dict) else {}
    sha256 = str(fields.get("sha256", ""))
    coordinate = JarCoordinate.parse(str(fields.get("coordinate", "")))
    if not _SHA256.fullmatch(sha256):
        raise JarLockError(f"{source}: {coordinate} has no sha256 of 64 lower-case hex digits")
    return LockedJar(coordinate=coordinate, sha256=sha256)
