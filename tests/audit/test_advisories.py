"""The audit of the locked packages: red where something is known, and never silently green."""

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.audit.advisories import ACCEPTED, LOCK, Audited, Broken, Skipped, audit, exit_code, judged, report

#: An answer in the shape of OSV's schema 1.6: an advisory of idna 3.6.
IDNA = {
    "id": "GHSA-jjg7-2v4v-x38h",
    "summary": "Internationalized Domain Names in Applications (IDNA) vulnerable to denial of service from specially "
    "crafted inputs to idna.encode",
    "details": "### Impact\nA specially crafted argument to the `idna.encode()` function could consume resources.",
    "aliases": ["CVE-2024-3651", "PYSEC-2024-60"],
    "modified": "2024-11-13T16:53:52Z",
    "published": "2024-04-11T21:32:40Z",
    "schema_version": "1.6.0",
    "affected": [
        {
            "package": {"name": "idna", "ecosystem": "PyPI", "purl": "pkg:pypi/idna"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.7"}]}],
        }
    ],
}
ROW = "{name}=={version} \\\n    --hash=sha256:" + "0" * 64 + "\n"


class Advisories:
    """A source of advisories on a real socket: answers by package name, and notes who was asked for."""

    def __init__(self) -> None:
        self.answers: Mapping[str, Any] = {"idna": {"vulns": [IDNA]}}
        self.status = 200
        self.asked: list[tuple[str, str]] = []
        advisories = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = json.loads(self.rfile.read(int(self.headers["content-length"])))
                name = query["package"]["name"]
                advisories.asked.append((name, query["version"]))
                body = json.dumps(advisories.answers.get(name, {})).encode()
                self.send_response(advisories.status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing on stderr."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def source(self) -> tuple[str, ...]:
        return ("-s", "osv", "--osv-url", f"http://127.0.0.1:{self.server.server_address[1]}/v1/query")


@pytest.fixture
def advisories() -> Iterator[Advisories]:
    started = Advisories()
    thread = Thread(target=started.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield started
    finally:
        started.server.shutdown()
        thread.join()
        started.server.server_close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / LOCK
    file.write_text(ROW.format(name="idna", version="3.6") + ROW.format(name="orjson", version="3.11.0"))
    return file


@pytest.fixture
def nobody() -> Iterator[tuple[str, ...]]:
    """A source that refuses every connection: the port is taken, and nobody listens on it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield ("-s", "osv", "--osv-url", f"http://127.0.0.1:{taken.getsockname()[1]}/v1/query")


def test_a_known_vulnerability_is_red_and_says_what_to_do(advisories: Advisories, lock: Path) -> None:
    """Every locked package is asked for in its locked version; a finding names itself, its aliases and its remedy."""
    verdict = audit(lock, sources=[advisories.source])
    told = report(verdict)
    assert sorted(advisories.asked) == [("idna", "3.6"), ("orjson", "3.11.0")]
    assert exit_code(verdict) == 1
    for part in (
        "audit: FAILED",
        "  idna 3.6: ",
        "GHSA-jjg7-2v4v-x38h",
        "CVE-2024-3651",
        "fixed in 3.7",
        "make lock",
    ):
        assert part in told
    assert "orjson" not in told


def test_nothing_known_is_green_and_says_how_many_were_judged(advisories: Advisories, lock: Path) -> None:
    """Green means that packages were looked up, and tells how many and where."""
    advisories.answers = {}
    verdict = audit(lock, sources=[advisories.source])
    assert exit_code(verdict) == 0
    assert report(verdict) == "audit: 2 locked packages, none with a known vulnerability (osv)"


def test_an_accepted_advisory_is_not_red(advisories: Advisories, lock: Path) -> None:
    """One that does not concern us is left out by its id, and only that one."""
    assert exit_code(audit(lock, sources=[advisories.source], accepted={"CVE-2024-3651": "why"})) == 0
    assert exit_code(audit(lock, sources=[advisories.source], accepted={"CVE-2024-0000": "why"})) == 1


def test_a_source_that_is_not_reached_leaves_it_to_the_next(
    advisories: Advisories, nobody: tuple[str, ...], lock: Path
) -> None:
    """One source that is down hides no finding of another."""
    assert exit_code(audit(lock, sources=[nobody, advisories.source])) == 1


@pytest.mark.parametrize("status", [404, 500])
def test_where_no_source_answers_the_skip_is_said_aloud(
    advisories: Advisories, nobody: tuple[str, ...], lock: Path, status: int
) -> None:
    """A machine without a way to a source runs the tests all the same, and nobody takes that for an audit."""
    advisories.status = status
    verdict = audit(lock, sources=[nobody, advisories.source])
    assert isinstance(verdict, Skipped)
    assert exit_code(verdict) == 0
    assert report(verdict).startswith(
        "audit: SKIPPED, no advisory source could be reached from here (osv: not reached"
    )


def test_a_mirror_that_knows_no_advisories_is_a_skip() -> None:
    """pip-audit calls it "no known vulnerabilities" and ends with 0 (recorded behind a mirror of the index)."""
    reason = "Dependency not found on PyPI and could not be audited: idna (3.6)"
    answer = {"dependencies": [{"name": "idna", "skip_reason": reason}], "fixes": []}
    ended = subprocess.CompletedProcess(
        [], 0, stdout=json.dumps(answer), stderr="No known vulnerabilities found\n"
    )
    verdict = judged(ended, source="pypi")
    assert isinstance(verdict, Skipped)
    assert "pypi: knows none of the 1 packages" in report(verdict)


def test_a_lock_that_cannot_be_read_is_red(advisories: Advisories, tmp_path: Path) -> None:
    """A fault of the audit itself is no skip."""
    file = tmp_path / LOCK
    file.write_text("idna>=3.6\n")
    verdict = audit(file, sources=[advisories.source])
    assert isinstance(verdict, Broken)
    assert exit_code(verdict) == 1
    assert "audit: FAILED" in report(verdict)


def test_the_project_s_lock_is_one_that_can_be_audited(advisories: Advisories) -> None:
    """All of what is installed is asked for, this environment's markers aside."""
    advisories.answers = {}
    verdict = audit(Path(LOCK), sources=[advisories.source])
    assert isinstance(verdict, Audited)
    assert verdict.unknown == ()
    assert verdict.judged > 80
    assert {"aiohttp", "psycopg", "pip-audit"} <= {name for name, _ in advisories.asked}


def test_every_accepted_advisory_has_its_reason() -> None:
    """An exception without a reason is one that nobody can take back."""
    assert all(len(reason) > 20 for reason in ACCEPTED.values())
