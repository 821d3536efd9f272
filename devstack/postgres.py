"""The stack's Postgres: one cluster with logical WAL, one database `outbox`, one user `outbox`, TCP on loopback only.

The user is a superuser, so the database asks for a password even here: without one, every user of the machine could run
programs as ours through it.
"""

import secrets
import shutil
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import psutil
import psycopg

from devstack.child import Account, Command, kill_family, run_to_end
from devstack.errors import StartError, StateError
from devstack.port import LOOPBACK
from devstack.postgres_home import PostgresHome, find_home, make_home, postgres_programs
from devstack.process_identity import ProcessIdentity
from devstack.service import Service, ServiceName

__all__ = ["DATABASE", "USER", "Postgres"]

DATABASE = "outbox"
USER = "outbox"

_ORPHANS_LEAVE_WITHIN = timedelta(seconds=1)
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_replication_slots": "10",
    "max_wal_senders": "10",
    # A slot that nobody reads may keep this much WAL, then it is lost: the developer's disk is worth more.
    "max_slot_wal_keep_size": "1GB",
    "shared_buffers": "64MB",
    "max_connections": "100",
    # A refused statement would be logged with the payload in it.
    "log_min_error_statement": "panic",
}


class Postgres(Service):
    """The database server. A killed one recovers from its WAL at the next start."""

    name: ClassVar[ServiceName] = "postgres"
    listeners: tuple[str, ...] = ("postgres",)
    stop_signal: ClassVar[signal.Signals] = (
        signal.SIGINT
    )  # "fast": SIGTERM would wait for every client to leave
    stop_within: ClassVar[timedelta] = timedelta(seconds=10)

    @property
    def url(self) -> str:
        """How clients connect, password included.

        Raises:
            StateError: there is no database yet.
        """
        return self._url(DATABASE)

    def prepare(self) -> None:
        """Make the cluster if there is none, and end what a killed server left behind.

        Raises:
            DevstackError: no server program, no room, or `initdb` failed.
        """
        home = make_home(self.state)
        _end_orphans(home.data)
        if not home.data.exists():
            self._initialize(home)
        # Nobody runs on this data now, so a pid file is a leftover. Its pid may by now be another process, and Postgres
        # would then refuse to start.
        (home.data / "postmaster.pid").unlink(missing_ok=True)

    def command(self) -> Command:
        """`postgres` with its settings on the command line: the data folder stays as `initdb` made it."""
        home = find_home(self.state)
        programs = postgres_programs(home)
        settings = {**_SETTINGS, "port": str(self.port)}
        if (programs.parent / "lib" / "postgresql" / "pg_stat_statements.so").is_file():
            settings["shared_preload_libraries"] = "pg_stat_statements"
        options = [argument for name, value in settings.items() for argument in ("-c", f"{name}={value}")]
        return Command(
            arguments=[str(programs / "postgres"), "-D", str(home.data), *options],
            folder=home.data,
            mark=self.mark,
            account=home.account,
        )

    def is_ready(self) -> bool:
        """Whether it answers a query in our database, which is created on the way."""
        try:
            with psycopg.connect(self.url, connect_timeout=2) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except psycopg.OperationalError as error:
            if "does not exist" in str(error):
                self._create_database()
            return False

    def _initialize(self, home: PostgresHome) -> None:
        password = secrets.token_urlsafe(24)
        draft = home.folder / "data.draft"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            home.password_file.unlink(missing_ok=True)
            home.password_file.touch(mode=0o600)
            home.password_file.write_text(password, encoding="ascii")
            draft.mkdir(mode=0o700)
            if home.account is not None:
                _give(home.password_file, home.account)
                _give(draft, home.account)
        except OSError as error:
            raise StateError(
                f"{home.folder} can't be written ({error.strerror}): make room or rights there"
            ) from error
        options = {
            "username": USER,
            "pwfile": str(home.password_file),
            "auth": "scram-sha-256",
            "encoding": "UTF8",
        }
        command = Command(
            arguments=[
                str(postgres_programs(home) / "initdb"),
                *(f"--{name}={value}" for name, value in options.items()),
                "--no-locale",
                "--no-sync",
                f"--pgdata={draft}",
            ],
            folder=draft,
            mark=self.mark,
            account=home.account,
        )
        if not run_to_end(command, log=self.log):
            raise StartError(self._complaint("could not make its data folder"))
        draft.rename(home.data)

    def _create_database(self) -> None:
        with (
            suppress(psycopg.Error),
            psycopg.connect(self._url("postgres"), autocommit=True, connect_timeout=2) as admin,
        ):
            admin.execute(f"CREATE DATABASE {DATABASE} OWNER {USER}")

    def _url(self, database: str) -> str:
        home = find_home(self.state)
        try:
            password = home.password_file.read_text(encoding="ascii")
        except OSError as error:
            what = (
                "has lost its password: run `outbox dev down --remove`,"
                if home.data.exists()
                else "was never started:"
            )
            raise StateError(
                f"the database of {self.state.path.parent} {what} then `outbox dev up`"
            ) from error
        return f"postgresql://{USER}:{password}@{LOOPBACK}:{self.port}/{database}"


def _give(path: Path, account: Account) -> None:
    shutil.chown(path, account.uid, account.gid)


def _end_orphans(data: Path) -> None:
    # The children of a killed server leave by themselves within moments, but hold its shared memory until then.
    # They hide their environment under a title, so the folder they stand in tells whose they are.
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            orphan = ProcessIdentity.of(process.pid)
            if orphan is None or process.name() != "postgres" or Path(process.cwd()) != data:
                continue
            if not orphan.wait_gone(_ORPHANS_LEAVE_WITHIN):
                kill_family(orphan)
