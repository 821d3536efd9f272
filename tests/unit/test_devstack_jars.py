"""The jar cache: fetched once, checked always, and never half-done."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from devstack.errors import ChecksumError, FetchError, StateError
from devstack.jar_lock import JarCoordinate, LockedJar
from devstack.jars import ensure_jars
from devstack.progress import Progress

BYTES = {name: f"the bytes of {name}".encode() for name in ("kafka", "connect", "debezium")}


def locked(name: str) -> LockedJar:
    coordinate = JarCoordinate(group="org.example", artifact=name, version="1.0")
    return LockedJar(coordinate=coordinate, sha256=hashlib.sha256(BYTES[name]).hexdigest())


JARS = [locked(name) for name in BYTES]


class FakeRepository:
    """A repository that serves what it is given, and remembers what was asked of it."""

    def __init__(self, content: Mapping[str, bytes]) -> None:
        self.content = content
        self.asked: list[str] = []
        self.staging = Path()

    def __call__(self, staging: Path) -> "FakeRepository":
        self.staging = staging
        return self

    def download(self, coordinate: JarCoordinate) -> Path:
        self.asked.append(coordinate.artifact)
        if coordinate.artifact not in self.content:
            raise FetchError(f"{coordinate} could not be fetched")
        path = self.staging / f"{coordinate.artifact}.jar"
        path.write_bytes(self.content[coordinate.artifact])
        return path


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    """A second clone, or a second start, downloads nothing."""
    repository = FakeRepository(BYTES)
    paths = ensure_jars(JARS, cache=tmp_path, repository=repository)
    assert [path.read_bytes() for path in paths] == list(BYTES.values())
    assert ensure_jars(JARS, cache=tmp_path, repository=repository) == paths
    assert sorted(repository.asked) == sorted(BYTES)
    assert files_in(tmp_path) == {"kafka-1.0.jar", "connect-1.0.jar", "debezium-1.0.jar"}


def test_a_jar_with_another_checksum_is_refused_and_not_kept(tmp_path: Path) -> None:
    """The error names the file, what was expected and what came."""
    forged = b"something else"
    with pytest.raises(ChecksumError) as caught:
        ensure_jars(JARS, cache=tmp_path, repository=FakeRepository({**BYTES, "debezium": forged}))
    message = str(caught.value)
    assert "debezium.jar" in message
    assert f"expected sha256 {JARS[2].sha256}" in message
    assert f"got {hashlib.sha256(forged).hexdigest()}" in message
    assert "debezium-1.0.jar" not in files_in(tmp_path)


def test_a_jar_that_changed_in_the_cache_is_fetched_anew(tmp_path: Path) -> None:
    """What runs is what was locked, also when the cache was damaged since."""
    paths = ensure_jars(JARS, cache=tmp_path, repository=FakeRepository(BYTES))
    paths[1].write_bytes(b"damaged")
    repository = FakeRepository(BYTES)
    ensure_jars(JARS, cache=tmp_path, repository=repository)
    assert repository.asked == ["connect"]
    assert paths[1].read_bytes() == BYTES["connect"]


def test_a_failed_fetch_keeps_what_it_had(tmp_path: Path) -> None:
    """The next try only fetches the rest, and no half-done file is left anywhere."""
    without = {name: content for name, content in BYTES.items() if name != "debezium"}
    with pytest.raises(FetchError, match=r"org\.example:debezium:1\.0 could not be fetched"):
        ensure_jars(JARS, cache=tmp_path, repository=FakeRepository(without))
    assert files_in(tmp_path) == {"kafka-1.0.jar", "connect-1.0.jar"}
    assert [path.name for path in tmp_path.iterdir()] == ["org"]
    repository = FakeRepository(BYTES)
    ensure_jars(JARS, cache=tmp_path, repository=repository)
    assert repository.asked == ["debezium"]


def test_progress_is_told_up_to_the_last_jar(tmp_path: Path) -> None:
    """Who waits for the first fetch sees it move."""
    told: list[Progress] = []
    ensure_jars(JARS, cache=tmp_path, on_progress=told.append, repository=FakeRepository(BYTES))
    assert [(news.step, news.done, news.total) for news in told] == [("jars", done, 3) for done in range(4)]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One line says which folder, and why."""
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"the jar cache .*file.* can't be written"):
        ensure_jars(JARS, cache=tmp_path / "file" / "jars", repository=FakeRepository(BYTES))
