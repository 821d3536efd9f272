"""The connector's page gives the reason of each setting, and no other value than the template."""

import json
import re
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def test_every_setting_of_the_template_is_on_the_page() -> None:
    """JSON has no comments: a setting whose reason nobody wrote down is one that nobody dares to change."""
    template = json.loads((_ROOT / "debezium" / "connector.json").read_text(encoding="utf-8"))
    page = (_ROOT / "docs" / "reference" / "connector.md").read_text(encoding="utf-8")
    assert {name: value for name, value, _ in _ROW.findall(page)} == template
