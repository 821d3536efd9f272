"""`outbox dev` as a person calls it, on one state folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil

__all__ = ["DevCommand"]

_ROOT = Path(__file__).parents[2]


class DevCommand:
    """Call it with a command's name and options."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir

    def __call__(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "streams.cli", "dev", *arguments, "--state-dir", str(self.state_dir)],
            cwd=_ROOT,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def pids(self) -> dict[str, int]:
        return {one["service"]: one["pid"] for one in json.loads(self("status", "--json").stdout)}

    def kill(self, name: str) -> None:
        process = psutil.Process(self.pids()[name])
        process.kill()
        process.wait()
