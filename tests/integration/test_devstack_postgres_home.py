"""Postgres' programs, when they can't be run from where pip put them."""

import subprocess
from pathlib import Path

from devstack.postgres_home import copy_programs, find_programs


def test_copied_programs_run_and_are_everyones(tmp_path: Path) -> None:
    """As root in a folder that only root may enter, Postgres runs from a copy: it is whole, and made once."""
    programs = copy_programs(find_programs(), tmp_path / "programs")
    for name in ("postgres", "initdb"):
        answer = subprocess.run(  # noqa: S603 - the programs just copied
            [programs / "bin" / name, "--version"], check=True, capture_output=True, text=True
        )
        assert "PostgreSQL" in answer.stdout
    assert all(path.stat().st_mode & 0o004 for path in programs.rglob("*"))
    made_at = (programs / "bin" / "postgres").stat().st_ino
    assert copy_programs(find_programs(), tmp_path / "programs") == programs
    assert (programs / "bin" / "postgres").stat().st_ino == made_at
