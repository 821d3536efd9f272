"""The command line's page says what the commands say."""

from pathlib import Path

from streams.cli.reference import cli_page

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def test_the_page_is_what_the_commands_say() -> None:
    """docs/reference/cli.md is never behind the code; `make docs` writes it."""
    assert _PAGE.read_text(encoding="utf-8") == cli_page()
