"""What setup can change, each step a value that says what it does.

Place in the data's way: made by `plan`, shown by `--dry-run`, taken by `run`. The texts are what a person
reads before and after, so they name things as those who operate them do.
"""

from dataclasses import dataclass

from connectors.counted import counted
from connectors.kafka.topics import TopicChange

__all__ = [
    "ChangeConnector",
    "ChangeTopic",
    "CreateConnector",
    "CreateSlot",
    "FixPublication",
    "Migrate",
    "RestartConnector",
    "ResumeConnector",
    "Step",
    "TellEndpoints",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrate:
    """Apply the schema's migrations: tables, publication, functions."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        """Say what it does."""
        return f"migrate Postgres: {', '.join(self.names)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPublication:
    """Make the publication, or let it pass on what it leaves out."""

    name: str
    faults: tuple[str, ...]

    def __str__(self) -> str:
        """Say what it does."""
        return f"put publication {self.name} right: {', '.join(self.faults)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSlot:
    """Make the replication slot, from which on no committed row is missed."""

    name: str

    def __str__(self) -> str:
        """Say what it does."""
        return f"create replication slot {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTopic:
    """Create, grow or configure a topic."""

    change: TopicChange

    def __str__(self) -> str:
        """Say what it does."""
        return str(self.change)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConnector:
    """Install the connector."""

    name: str

    def __str__(self) -> str:
        """Say what it does."""
        return f"create connector {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeConnector:
    """Give the connector another configuration.

    `forget_position`: the slot is a new one, and the position that Connect keeps is of the old one.
    Debezium would search for it in the WAL and pass over rows meanwhile.
    """

    name: str
    differences: tuple[str, ...]
    forget_position: bool

    def __str__(self) -> str:
        """Say what it does."""
        parts = [
            *self.differences,
            *(["forget the position, which is another slot's"] if self.forget_position else []),
        ]
        return f"change connector {self.name}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartConnector:
    """Restart what failed of the connector."""

    name: str
    reason: str

    def __str__(self) -> str:
        """Say what it does."""
        return f"restart connector {self.name}, which failed: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeConnector:
    """Let a stopped or paused connector go on."""

    name: str

    def __str__(self) -> str:
        """Say what it does."""
        return f"resume connector {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TellEndpoints:
    """Publish every endpoint again, because the workers' topic lacks some."""

    missing: int
    topic: str

    def __str__(self) -> str:
        """Say what it does."""
        return f"publish all endpoints again: {self.topic} lacks {counted(self.missing, 'endpoint')}"


Step = (
    Migrate
    | FixPublication
    | CreateSlot
    | ChangeTopic
    | CreateConnector
    | ChangeConnector
    | RestartConnector
    | ResumeConnector
    | TellEndpoints
)
