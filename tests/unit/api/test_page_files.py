"""The page's files: all of them are packaged and served, and none holds what its policy forbids."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from streams.api.page import files
from streams.api.page.files import PageFile, page_files

ROOT = Path(__file__).parents[3]
FOLDER = Path(files.__file__).parent
FILES = page_files()
TEXTS = {file.path: file.content.decode() for file in FILES}
SCRIPTS = [path for path in TEXTS if path.endswith(".js")]


def test_every_file_is_served_and_packaged() -> None:
    """What stands in the folder, beside the Python: none is forgotten by the server, or by the wheel."""
    there = {path for path in FOLDER.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}
    assert {f"/page/{path.relative_to(FOLDER).as_posix()}" for path in there} - {"/page/index.html"} == (
        set(TEXTS) - {"/"}
    )
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    assert {f"*{path.suffix}" for path in there} <= set(packaged)


def test_a_tag_follows_the_content() -> None:
    """Another byte, another tag: a browser that has the old file asks for the new one."""
    assert PageFile(path="/", media_type="text/html", content=b"a").tag != (
        PageFile(path="/", media_type="text/html", content=b"b").tag
    )
    assert len({file.tag for file in FILES}) == len(FILES)


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_makes_no_markup_of_texts_and_begins_with_what_it_is_for(path: str) -> None:
    """No innerHTML and its like, no eval, no style attribute, nothing stored but the token; and it is short."""
    text = TEXTS[path]
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|https?://(?!receiver)"
    found = set(re.findall(forbidden, text)) - {"http://"}
    assert found == set()
    assert text.startswith("/*\n * ")
    assert len(text.splitlines()) < 200


def test_the_frame_has_no_inline_script_or_style() -> None:
    """All of both comes from files of its own, and all links lead within the page."""
    frame = TEXTS["/"]
    assert re.findall(r"<script(?![^>]* src=)|<style|style=|\son[a-z]+=", frame) == []
    linked = re.findall(r'(?:src|href)="([^"]+)"', frame)
    assert [link for link in linked if not link.startswith(("#", "page/"))] == []
    assert {f"/{link}" for link in linked if link.startswith("page/")} <= set(TEXTS)


@pytest.mark.parametrize("path", SCRIPTS)
def test_what_a_script_imports_is_there(path: str) -> None:
    """A module that is missing would leave the page empty."""
    for imported in re.findall(r'from "([^"]+)"', TEXTS[path]):
        assert str((Path(path).parent / imported).as_posix()).replace("/views/../", "/") in TEXTS
