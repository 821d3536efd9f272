"""Everything that `connectors.postgres` raises, in one tree.

::

    PostgresError
    ├── DatabaseUrlError           an address that libpq can't read
    ├── DatabaseUnreachableError   no connection, or one that was lost
    │   └── StatementTimeoutError  a statement that was given no more time
    │       └── LockHeldError      it waited for what somebody else holds
    ├── DatabaseUnsuitableError    a server or a database that the outbox can't live in
    ├── SchemaMissingError         the tables aren't there, or are older: `outbox setup` has not run
    ├── MigrationError             a migration that failed, or another run that doesn't end
    ├── SlotRefusedError           Postgres made no replication slot
    ├── StatementFailedError       anything else that Postgres refused
    │   └── RowRefusedError        a row that can't be stored as it is
    ├── DeliveryNotFoundError      no delivery in the log has that id
    ├── DeadLetterNotFoundError    no dead letter has that id
    ├── RedriveRefusedError        nothing is redriven
    │   ├── NothingToRedriveError  none of the chosen dead letters is open
    │   └── PoisonRefusedError     some would die again, unless somebody says that they would not
    ├── CursorInvalidError         a text that is no page's cursor
    ├── EndpointNotFoundError      no endpoint has that id
    ├── EndpointUnreadableError    an endpoint is stored in a form that today's rules refuse
    ├── EndpointExistsError        an endpoint has that id already
    ├── ReplayNotFoundError        no replay has that id
    └── IdempotencyKeyReusedError  the key was used for another request

Messages name the host, the port and the database; never a password, a secret, a payload or a row. Postgres'
own DETAIL ("Failing row contains …") would show all of these: of its errors, only the primary message is
passed on.
"""

from __future__ import annotations

__all__ = [
    "CursorInvalidError",
    "DatabaseUnreachableError",
    "DatabaseUnsuitableError",
    "DatabaseUrlError",
    "DeadLetterNotFoundError",
    "DeliveryNotFoundError",
    "EndpointExistsError",
    "EndpointNotFoundError",
    "EndpointUnreadableError",
    "IdempotencyKeyReusedError",
    "LockHeldError",
    "MigrationError",
    "NothingToRedriveError",
    "PoisonRefusedError",
    "PostgresError",
    "RedriveRefusedError",
    "ReplayNotFoundError",
    "RowRefusedError",
    "SchemaMissingError",
    "SlotRefusedError",
    "StatementFailedError",
    "StatementTimeoutError",
]


class PostgresError(Exception):
    """The root of everything that this connector raises."""


class DatabaseUrlError(PostgresError, ValueError):
    """An address that libpq can't read. Its text is never shown: it may hold a password."""


class DatabaseUnreachableError(PostgresError):
    """The server can't be connected to, or the connection was lost."""


class StatementTimeoutError(DatabaseUnreachableError):
    """A statement took, or waited for a lock, longer than its session allows; or somebody cancelled it."""


class LockHeldError(StatementTimeoutError):
    """A statement waited for a row or a table that another transaction holds, longer than its session allows."""


class DatabaseUnsuitableError(PostgresError):
    """The server is too old, or the database is not encoded in UTF-8."""


class SchemaMissingError(PostgresError):
    """The outbox's tables are not in this database, or not as this version needs them."""


class MigrationError(PostgresError):
    """A migration failed; what was applied before it stays applied, and a repeated run goes on from there."""


class SlotRefusedError(PostgresError):
    """Postgres made no replication slot; the message says what to do."""


class StatementFailedError(PostgresError):
    """Postgres refused a statement, for a reason that has no error of its own here."""


class RowRefusedError(StatementFailedError):
    """A row that Postgres can't store as it is: writing it again would not help."""


class DeliveryNotFoundError(PostgresError, LookupError):
    """No delivery in the log has this id."""

    def __init__(self, delivery_id: str) -> None:
        super().__init__(
            f"There is no delivery {delivery_id[:80]!r} in the log. `outbox deliveries list` shows those there are; "
            "the log forgets them after OUTBOX_LOG_RETENTION_DAYS."
        )
        self.delivery_id = delivery_id


class DeadLetterNotFoundError(PostgresError, LookupError):
    """No dead letter has this id."""

    def __init__(self, letter_id: str) -> None:
        super().__init__(
            f"There is no dead letter {letter_id[:80]!r}. `outbox dead-letters list` shows those there are; they are "
            "forgotten after OUTBOX_DEAD_LETTER_RETENTION_HOURS."
        )
        self.letter_id = letter_id


class RedriveRefusedError(PostgresError):
    """Dead letters that were chosen are not redriven."""


class NothingToRedriveError(RedriveRefusedError):
    """None of the chosen dead letters is open: somebody redrove or discarded them, or there are none."""

    def __init__(self) -> None:
        super().__init__(
            "None of these dead letters is open: they were redriven or discarded before, or there are none. Nothing "
            "was done. `outbox dead-letters list` shows how they stand."
        )


class PoisonRefusedError(RedriveRefusedError):
    """Some of the chosen dead letters are poison: a worker that can't read them would bury them again."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"{number} of these dead letters can't be read (class poison), and would die again as they are. Nothing "
            "was redriven. Leave them out, or discard them. If the workers can read them by now, after an upgrade "
            "say, choose that they are redriven, too."
        )
        self.number = number


class CursorInvalidError(PostgresError, ValueError):
    """A cursor that no page gave."""

    def __init__(self) -> None:
        super().__init__("The cursor is none that a page gave. Begin without one.")


class EndpointNotFoundError(PostgresError, LookupError):
    """No endpoint has this id."""

    def __init__(self, endpoint_id: str) -> None:
        super().__init__(
            f"There is no endpoint {endpoint_id[:80]!r}. `outbox endpoints list` shows those there are."
        )
        self.endpoint_id = endpoint_id


class EndpointUnreadableError(PostgresError):
    """An endpoint is stored in a form that today's rules refuse: an older version's, or somebody's SQL."""

    def __init__(self, endpoint_id: str, why: str) -> None:
        super().__init__(
            f"Endpoint {endpoint_id[:80]!r} is stored in a form that is refused now: {why}. It is sent nothing new. "
            "Change what is named to something valid, or remove the endpoint."
        )
        self.endpoint_id = endpoint_id
        self.why = why


class EndpointExistsError(PostgresError):
    """An endpoint has this id already."""

    def __init__(self, endpoint_id: str) -> None:
        super().__init__(
            f"There is an endpoint {endpoint_id!r} already. Update it, or add one under another id."
        )
        self.endpoint_id = endpoint_id


class ReplayNotFoundError(PostgresError, LookupError):
    """No replay has this id."""

    def __init__(self, replay_id: str) -> None:
        super().__init__(
            f"There is no replay {replay_id[:80]!r}. `outbox replay list` shows those there are."
        )
        self.replay_id = replay_id


class IdempotencyKeyReusedError(PostgresError):
    """An idempotency key was used before, for something else."""

    def __init__(self) -> None:
        super().__init__(
            "The idempotency key was used before, for another request. Use a new key for a new request."
        )
