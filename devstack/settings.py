"""How other programs reach a started stack."""

from dataclasses import dataclass, field

__all__ = ["StackSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSettings:
    """Three addresses, all on loopback. The database URL holds a password, so it stays out of `repr`."""

    database_url: str = field(repr=False)
    kafka_bootstrap_servers: str
    connect_url: str

    def as_env(self) -> dict[str, str]:
        """The environment that makes any of our programs use this stack.

        >>> StackSettings(database_url="d", kafka_bootstrap_servers="k", connect_url="c").as_env()[
        ...     "OUTBOX_CONNECT_URL"
        ... ]
        'c'
        """
        return {
            "OUTBOX_DATABASE_URL": self.database_url,
            "OUTBOX_KAFKA_BOOTSTRAP_SERVERS": self.kafka_bootstrap_servers,
            "OUTBOX_CONNECT_URL": self.connect_url,
        }
