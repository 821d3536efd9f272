"""Known vulnerabilities of the packages in a lock file, by pip-audit; and what may be said where nobody answers.

pip-audit knows two sources: the package index and OSV. Where neither can be reached it is of no help: an index that is
a mirror answers 404 to every question, which it takes for "no known vulnerabilities found" and exit code 0. So what
counts here is its report: how many packages were judged. None: the audit did not happen, and that is said aloud.
A machine without a way to a source must still be able to run the tests, so that is no failure.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

__all__ = [
    "ACCEPTED",
    "LOCK",
    "Audited",
    "Broken",
    "Finding",
    "Skipped",
    "Verdict",
    "audit",
    "exit_code",
    "judged",
    "report",
]

LOCK = "requirements.lock"
#: Advisories that don't concern us, by id, each with the reason and when to look again.
ACCEPTED: Mapping[str, str] = {}

#: The sources in the order in which they are asked, as pip-audit's options.
_SOURCES: tuple[tuple[str, ...], ...] = (("-s", "pypi"), ("-s", "osv"))
_LIMIT_S = 120.0
#: How pip-audit, and requests under it, say that a source was not reached. Anything else is a fault of the audit.
_UNREACHED = re.compile(
    r"Could not connect|ConnectionError|Timeout|SSLError|ProxyError|HTTPError|ServiceError|JSONDecodeError"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One advisory for one locked package."""

    package: str
    version: str
    ids: tuple[str, ...]
    fixed_in: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A source answered. `unknown` are the packages that it doesn't know."""

    source: str
    judged: int
    unknown: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """No source could be reached."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The audit itself failed: a lock file that can't be read, say."""

    detail: str


Verdict = Audited | Skipped | Broken


def audit(
    lock: Path, *, sources: Sequence[Sequence[str]] = _SOURCES, accepted: Iterable[str] = ACCEPTED
) -> Verdict:
    """Ask one source after another until one answers."""
    reasons: list[str] = []
    for source in sources:
        try:
            found = judged(_pip_audit(lock, source=source, accepted=accepted), source=source[1])
        except subprocess.TimeoutExpired:
            found = Skipped(reasons=(f"{source[1]}: no answer within {_LIMIT_S:g} s",))
        if not isinstance(found, Skipped):
            return found
        reasons += found.reasons
    return Skipped(reasons=tuple(reasons))


def judged(ended: "subprocess.CompletedProcess[str]", *, source: str) -> Verdict:
    """What pip-audit's end means. Its exit code doesn't tell a finding from a fault, nor an answer from none."""
    if not ended.stdout.strip():
        if _UNREACHED.search(ended.stderr):
            return Skipped(reasons=(f"{source}: not reached",))
        return Broken(detail=ended.stderr.strip().rpartition("\n")[2][:300])
    packages = json.loads(ended.stdout)["dependencies"]
    unknown = tuple(package["name"] for package in packages if "skip_reason" in package)
    if len(unknown) == len(packages):
        return Skipped(
            reasons=(f"{source}: knows none of the {len(packages)} packages, as a mirror without advisories",)
        )
    findings = tuple(
        Finding(
            package=package["name"],
            version=package["version"],
            ids=(found["id"], *found["aliases"]),
            fixed_in=tuple(found["fix_versions"]),
            summary=found["description"],
        )
        for package in packages
        for found in package.get("vulns", ())
    )
    return Audited(source=source, judged=len(packages) - len(unknown), unknown=unknown, findings=findings)


def report(verdict: Verdict) -> str:
    """What happened, for people, and what to do."""
    match verdict:
        case Audited(findings=()):
            unknown = f"; not known there: {', '.join(verdict.unknown)}" if verdict.unknown else ""
            return (
                f"audit: {verdict.judged} locked packages, none with a known vulnerability ({verdict.source})"
                f"{unknown}"
            )
        case Audited(findings=findings):
            lines = [f"audit: FAILED, known vulnerabilities in locked packages ({verdict.source}):"]
            lines += map(_told, findings)
            lines.append(
                "  `make lock` takes the newest versions that pyproject.toml allows. Where none is fixed yet, and the "
                "advisory does not concern us: tests/audit/advisories.py, ACCEPTED, with the reason."
            )
            return "\n".join(lines)
        case Skipped(reasons=reasons):
            return f"audit: SKIPPED, no advisory source could be reached from here ({'; '.join(reasons)})"
        case Broken(detail=detail):
            return f"audit: FAILED, pip-audit could not read {LOCK}: {detail}"
        case _:
            assert_never(verdict)


def exit_code(verdict: Verdict) -> int:
    """1 where somebody has to do something."""
    return int(isinstance(verdict, Broken) or (isinstance(verdict, Audited) and bool(verdict.findings)))


def _pip_audit(
    lock: Path, *, source: Sequence[str], accepted: Iterable[str]
) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(lock),
        "--disable-pip",
        "--require-hashes",
    ]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "10", *source]
    for advisory in accepted:
        command += ["--ignore-vuln", advisory]
    return subprocess.run(  # noqa: S603 - our own arguments
        command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )


def _told(finding: Finding) -> str:
    fixed = f"fixed in {', '.join(finding.fixed_in)}" if finding.fixed_in else "no fixed version yet"
    summary = " ".join(finding.summary.split())[:160]
    return f"  {finding.package} {finding.version}: {', '.join(finding.ids)}; {fixed}. {summary}"
