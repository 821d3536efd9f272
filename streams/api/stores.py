"""What operations ask: the database, the delivery log in it, and Kafka's backlog. Each has its own limits.

Place in the data's way: opened and closed by the server, used by the pipeline. Invariant: what waits for one of them
holds up nobody who asks another.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

from streams.api.backlog import Backlog
from streams.api.database import Database
from streams.settings import Settings

__all__ = ["AT_WORK", "Stores"]

AT_WORK: Final = 64
"""How many requests may be at work."""

_CONNECTIONS: Final = 8
_WITHIN: Final = timedelta(seconds=5)
_LOG_CONNECTIONS: Final = 4
_LOG_READS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The three of them. Made with `of`."""

    database: Database
    log: Database
    backlog: Backlog

    @classmethod
    def of(cls, settings: Settings, *, log_read_within: timedelta, lock_within: timedelta) -> Self:
        """Those that the settings name, not open yet."""
        url = settings.database_url.get_secret_value()
        return cls(
            database=Database(
                url,
                name="api",
                connections=_CONNECTIONS,
                at_work=AT_WORK,
                longest=_WITHIN,
                longest_for_lock=lock_within,
            ),
            log=Database(
                url,
                name="api-log",
                connections=_LOG_CONNECTIONS,
                at_work=_LOG_READS,
                longest=log_read_within,
                longest_for_lock=log_read_within / 2,
            ),
            backlog=Backlog(settings.kafka_bootstrap_servers, tiers=settings.tiers, now_s=time.monotonic),
        )

    def open(self) -> None:
        """Make them usable. Neither Postgres nor Kafka need be there yet."""
        self.database.open()
        self.log.open()

    async def close(self) -> None:
        """Let what runs end, and close the connections."""
        await self.database.close()
        await self.log.close()
        await self.backlog.close()
