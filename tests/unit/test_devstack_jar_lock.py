"""The lock of the jars: what is read, what is refused, and what is committed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devstack.checkout import debezium_file
from devstack.errors import JarLockError, MissingPieceError
from devstack.jar_lock import JarCoordinate, LockedJar, parse_direct, parse_lock, render_lock
from devstack.jars import locked_jars

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,20}", fullmatch=True)
COORDINATES = st.builds(JarCoordinate, group=NAMES, artifact=NAMES, version=NAMES)
JARS = st.builds(
    LockedJar, coordinate=COORDINATES, sha256=st.text("0123456789abcdef", min_size=64, max_size=64)
)


@given(st.lists(JARS, min_size=1, unique_by=lambda jar: (jar.coordinate.group, jar.coordinate.artifact)))
def test_what_is_written_is_read(jars: list[LockedJar]) -> None:
    """Any lock comes back from its text, in the same order."""
    assert parse_lock(render_lock(jars), source="a lock") == tuple(jars)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a:b",
        "a:b:c:d",
        "a::c",
        "a:b:",
        "../x:b:c",
        "a:b/../..:c",
        "a:b:..",
        ".a:b:c",
        "a b:c:d",
        "a:b:c\n",
    ],
)
def test_what_is_no_coordinate_is_refused(text: str) -> None:
    """Nothing in a lock can name a file outside the cache folder."""
    with pytest.raises(JarLockError, match="is no jar coordinate"):
        JarCoordinate.parse(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("not toml", "is not TOML"),
        ("", "lists no jars"),
        ("jar = 1", "lists no jars"),
        ("jar = [1]", "is no jar coordinate"),
        ('[[jar]]\ncoordinate = "a:b:c"', "has no sha256"),
        ('[[jar]]\ncoordinate = "a:b:c"\nsha256 = "abc"', "has no sha256"),
        (f'[[jar]]\ncoordinate = "a:b:c"\nsha256 = "{"F" * 64}"', "has no sha256"),
        (
            "".join(f'[[jar]]\ncoordinate = "a:b:{v}"\nsha256 = "{"f" * 64}"\n' for v in "12"),
            "lists a:b twice",
        ),
    ],
)
def test_a_damaged_lock_is_refused_with_what_to_do(text: str, complaint: str) -> None:
    """No jar is taken on a lock that isn't whole."""
    with pytest.raises(JarLockError, match=complaint):
        parse_lock(text, source="debezium/jars.lock.toml")


def test_the_committed_lock_has_all_that_is_asked_for_and_no_address() -> None:
    """`jars.toml` and its lock agree, and neither says where jars come from."""
    direct_file = debezium_file("jars.toml")
    direct = parse_direct(direct_file.read_text(encoding="utf-8"), source="jars.toml")
    assert [jar.coordinate for jar in locked_jars()[: len(direct)]] == list(direct)
    for file in (direct_file, debezium_file("jars.lock.toml")):
        assert "//" not in file.read_text(encoding="utf-8")


def test_kafkas_own_jars_are_all_of_one_version() -> None:
    """Debezium was built with an earlier Kafka client: mixing them fails at the worst moment."""
    versions = {jar.coordinate.version for jar in locked_jars() if jar.coordinate.group == "org.apache.kafka"}
    assert len(versions) == 1


def test_a_package_without_its_checkout_says_so(tmp_path: Path) -> None:
    """The configuration files are in the checkout, and a message says how to get one."""
    with pytest.raises(MissingPieceError, match="runs from a checkout"):
        debezium_file("jars.toml", folder=tmp_path)
