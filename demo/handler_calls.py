"""Reading what the demo's handlers noted of their calls."""

import json
from pathlib import Path

from demo.evidence import Call, Evidence

__all__ = ["CallsFile"]


class CallsFile:
    """The file that `demo.handlers` writes, read on from where it was last read to."""

    def __init__(self, path: Path, evidence: Evidence) -> None:
        self.path = path
        self._evidence = evidence
        self._read_bytes = 0

    def read(self) -> None:
        """Note the calls that are new. A line that isn't complete yet is left for the next time."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_bytes)
            lines = file.read()
        complete = lines[: lines.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        for line in complete.splitlines():
            note = json.loads(line)
            self._evidence.calls.append(
                Call(
                    target=f"handler:{note['handler']}",
                    event_id=note["event_id"],
                    body_sha256=note["body_sha256"],
                )
            )
