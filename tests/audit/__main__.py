"""Audit `requirements.lock`, say what came of it in one line or a few, and end with 1 where something is to be done."""

import sys
from pathlib import Path

from tests.audit.advisories import LOCK, audit, exit_code, report


def main() -> int:
    """Ask the sources in turn."""
    verdict = audit(Path(LOCK))
    sys.stdout.write(report(verdict) + "\n")
    return exit_code(verdict)


if __name__ == "__main__":
    raise SystemExit(main())
