"""What a check says: one finding, good or bad.

Place in the data's way: the doctor's output, for a person and as JSON for a monitor. `check` is a stable name
that an alert may refer to.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum

__all__ = ["Finding", "Severity", "error", "ok", "warning"]


class Severity(StrEnum):
    """How bad it is. ERROR: events are not delivered, or will be lost. WARNING: it bites in a bad hour."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, why it bites, and what to do; the last two are empty when all is well."""

    check: str
    severity: Severity
    what: str
    why: str = ""
    do: str = ""

    def to_json(self) -> dict[str, str]:
        """Give the finding as a JSON object."""
        return {key: str(value) for key, value in asdict(self).items()}


def ok(check: str, what: str) -> Finding:
    """All is well."""
    return Finding(check=check, severity=Severity.OK, what=what)


def warning(check: str, what: str, *, why: str, do: str) -> Finding:
    """It will bite in a bad hour."""
    return Finding(check=check, severity=Severity.WARNING, what=what, why=why, do=do)


def error(check: str, what: str, *, why: str, do: str) -> Finding:
    """Events are not delivered, or will be lost."""
    return Finding(check=check, severity=Severity.ERROR, what=what, why=why, do=do)
