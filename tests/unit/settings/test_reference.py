"""The settings page says what the code says."""

from pathlib import Path

from streams.settings.reference import settings_page

_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def test_the_page_is_what_the_fields_say() -> None:
    """docs/reference/settings.md is never behind the code; `make docs` writes it."""
    assert _PAGE.read_text(encoding="utf-8") == settings_page()
