"""What came of a prune."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Pruned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Rows created before `before`: how many were deleted (in a dry run: would be), and why others were kept.

    `kept_unconfirmed` rows the slot has not confirmed, or they were committed while this ran; `kept_held` ones somebody
    had locked; `kept_after_gap` ones wait until the retention has passed since `gap_ended_at`, when setup closed a gap
    in the capture. `confirmed` is whether the slot came as far as it had to.
    """

    dry_run: bool
    before: datetime
    confirmed: bool
    deleted: int = 0
    kept_unconfirmed: int = 0
    kept_held: int = 0
    kept_after_gap: int = 0
    gap_ended_at: datetime | None = None
    slot_active: bool
    unconfirmed_bytes: int

    @property
    def held_up(self) -> bool:
        """Whether somebody should look: there are old rows, and the slot doesn't come far enough to let them go."""
        return not self.confirmed and self.kept_unconfirmed > 0

    def to_json(self) -> dict[str, Any]:
        """For programs: docs/howto/prune.md lists the fields."""
        return {
            "dry_run": self.dry_run,
            "before": self.before,
            "confirmed": self.confirmed,
            "deleted": self.deleted,
            "kept": {
                "unconfirmed": self.kept_unconfirmed,
                "held": self.kept_held,
                "after_gap": self.kept_after_gap,
            },
            "gap_ended_at": self.gap_ended_at,
            "slot": {"active": self.slot_active, "unconfirmed_bytes": self.unconfirmed_bytes},
        }
