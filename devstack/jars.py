"""The jars of Kafka and Debezium: fetched once into the user's cache folder, compared with the lock every time.

A jar gets into the cache by one atomic rename after its checksum was right, so a killed fetch leaves nothing
half-done there, and two at once do no harm. A second clone finds them all.

`python -m devstack.jars lock` writes the lock anew; `python -m devstack.jars fetch` fills the cache.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import platformdirs

from devstack.checkout import debezium_file
from devstack.errors import ChecksumError, DevstackError, StateError
from devstack.jar_lock import JarCoordinate, LockedJar, parse_direct, parse_lock, render_lock
from devstack.jar_repository import JarRepository
from devstack.progress import Progress, ProgressListener, silent

__all__ = ["default_jar_cache", "ensure_jars", "lock", "locked_jars"]

_LOCK_FILE = "jars.lock.toml"
_DIRECT_FILE = "jars.toml"
_DOWNLOADS_AT_ONCE = 8
_STAGING_PREFIX = "staging-"
_ABANDONED_AFTER_S = 24 * 60 * 60


class Repository(Protocol):
    """Where a jar comes from: `JarRepository`, or a fake one in tests."""

    def download(self, coordinate: JarCoordinate) -> Path:
        """Put the jar somewhere in the staging folder, and say where."""


def default_jar_cache() -> Path:
    """The folder that keeps the jars for all clones of this user."""
    return Path(platformdirs.user_cache_dir("outbox-streams", appauthor=False)) / "jars"


def locked_jars() -> tuple[LockedJar, ...]:
    """What the committed lock lists, in class path order."""
    path = debezium_file(_LOCK_FILE)
    return parse_lock(path.read_text(encoding="utf-8"), source=f"debezium/{_LOCK_FILE}")


def ensure_jars(
    jars: Sequence[LockedJar],
    *,
    cache: Path,
    on_progress: ProgressListener = silent,
    repository: Callable[[Path], Repository] = JarRepository,
) -> tuple[Path, ...]:
    """The paths of all the jars, each with the locked checksum; those not in the cache are fetched first.

    A jar in the cache that has changed is fetched again.

    Raises:
        FetchError: a jar can't be had.
        ChecksumError: a fetched jar is not the locked one.
        StateError: the cache folder can't be written.
    """
    paths = [cache / jar.coordinate.path for jar in jars]
    with ThreadPoolExecutor(max_workers=_DOWNLOADS_AT_ONCE) as pool:
        present = list(
            pool.map(lambda pair: _sha256(pair[0]) == pair[1].sha256, zip(paths, jars, strict=True))
        )
    missing = [jar for jar, there in zip(jars, present, strict=True) if not there]
    if missing:
        _fetch(missing, cache=cache, on_progress=on_progress, repository=repository)
    return tuple(paths)


def lock() -> tuple[LockedJar, ...]:
    """Resolve what `debezium/jars.toml` asks for, fetch it, and write its checksums to the lock file."""
    path = debezium_file(_DIRECT_FILE)
    direct = parse_direct(path.read_text(encoding="utf-8"), source=f"debezium/{_DIRECT_FILE}")
    with tempfile.TemporaryDirectory() as staging:
        source = JarRepository(Path(staging))
        coordinates = source.resolve(direct)
        with ThreadPoolExecutor(max_workers=_DOWNLOADS_AT_ONCE) as pool:
            checksums = pool.map(lambda coordinate: _sha256(source.download(coordinate)), coordinates)
        jars = tuple(
            LockedJar(coordinate=coordinate, sha256=checksum or "")
            for coordinate, checksum in zip(coordinates, checksums, strict=True)
        )
    path.with_name(_LOCK_FILE).write_text(render_lock(jars), encoding="utf-8")
    return jars


def _fetch(
    jars: Sequence[LockedJar],
    *,
    cache: Path,
    on_progress: ProgressListener,
    repository: Callable[[Path], Repository],
) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _drop_abandoned_staging(cache)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=cache))
    except OSError as error:
        raise StateError(
            f"the jar cache {cache} can't be written ({error.strerror}): make room or rights"
        ) from error
    try:
        source = repository(staging)
        on_progress(Progress(step="jars", message="fetching Kafka and Debezium", total=len(jars)))
        with ThreadPoolExecutor(max_workers=_DOWNLOADS_AT_ONCE) as pool:
            stored = pool.map(lambda jar: _store(jar, source.download(jar.coordinate), cache=cache), jars)
            for done, jar in enumerate(stored, start=1):
                on_progress(
                    Progress(step="jars", message=jar.coordinate.artifact, done=done, total=len(jars))
                )
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _store(jar: LockedJar, fetched: Path, *, cache: Path) -> LockedJar:
    found = _sha256(fetched)
    if found != jar.sha256:
        raise ChecksumError(
            f"{fetched.name} ({jar.coordinate}) is not the locked jar: expected sha256 {jar.sha256}, got {found}. "
            "It was not used. If it was changed on purpose, run `python -m devstack.jars lock` and review the diff."
        )
    target = cache / jar.coordinate.path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(fetched, target)  # noqa: PTH105 - Path.replace is the same call; this name says that it is atomic
    except OSError as error:
        raise StateError(
            f"{target} can't be written ({error.strerror}): make room or rights there"
        ) from error
    return jar


def _sha256(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _drop_abandoned_staging(cache: Path) -> None:
    for folder in cache.glob(f"{_STAGING_PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _ABANDONED_AFTER_S:
                shutil.rmtree(folder, ignore_errors=True)


def _main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["lock"]:
            print(f"locked {len(lock())} jars in debezium/{_LOCK_FILE}")  # noqa: T201 - a command's answer
        case ["fetch"]:
            jars = ensure_jars(locked_jars(), cache=default_jar_cache())
            print(f"{len(jars)} jars are in {default_jar_cache()}")  # noqa: T201 - a command's answer
        case _:
            print("usage: python -m devstack.jars lock|fetch", file=sys.stderr)  # noqa: T201 - a command's answer
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(_main(sys.argv[1:]))
    except DevstackError as error:
        sys.exit(f"devstack.jars: {error}")
