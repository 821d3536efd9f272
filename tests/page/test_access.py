"""Who may look, and who may act: the page with tokens configured, and what a browser is told of its files."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from streams.api.access import new_token
from streams.api.page.files import POLICY
from tests.support.chromium import Chromium
from tests.support.page_site import PageSite, Story
from tests.support.tab import Tab, a_tab
from tests.support.threaded_api import threaded_api

NOTHING = "127.0.0.1:9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    base: str
    reader: str


@pytest.fixture(scope="module")
def guarded(site: PageSite) -> Iterator[Guarded]:
    """The same, served to those who have a token; its Kafka is away."""
    reader, entry = new_token("dashboard", "read")
    url = site.pipeline.installation.database_url
    with threaded_api(url, api_tokens=entry, kafka_bootstrap_servers=NOTHING) as api:
        yield Guarded(base=api.base, reader=reader)


def sign_in(tab: Tab, token: str) -> None:
    tab.wait_for_text("A token is needed")
    tab.wait_for("document.activeElement.id === 'token'", what="the focus in the form")
    assert tab.focused == "input Token"
    tab.type(token)
    tab.press("Enter")


def asked(base: str, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    """A path as it stands here: a client would take `..` out of it."""
    connection = http.client.HTTPConnection(urlsplit(base).netloc)
    connection.request(
        "GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    answer = connection.getresponse()
    try:
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_a_token_is_asked_for_and_kept_for_the_tab(troubled_tab: Tab, guarded: Guarded, story: Story) -> None:
    """A wrong one is refused in words; a right one leads to the view that was asked for; forgotten, it is gone."""
    tab = troubled_tab
    tab.go(f"{guarded.base}/#/deliveries?event_id={story.delivered}")
    sign_in(tab, "obx_wrong")
    tab.wait_for_text("The token is not one of this API's")
    tab.wait_for_text("Request id")
    sign_in(tab, guarded.reader)
    tab.wait_for_text(f"{story.late.event_type}.delivered")
    assert tab.run("[sessionStorage.length, localStorage.length, document.cookie]") == [1, 0, ""]
    tab.run("location.reload()")
    tab.wait_for_text(f"{story.late.event_type}.delivered")
    tab.tab_to("button Forget the token")
    tab.press("Enter")
    tab.wait_for_text("A token is needed")
    assert tab.run("sessionStorage.length") == 0


def test_the_form_for_a_token_is_left_alone(
    troubled_tab: Tab,
    guarded: Guarded,
    story: Story,  # noqa: ARG001 - what is listed
) -> None:
    """Refused, a view asks nothing more: what is typed stays, for as long as it takes to find the token."""
    tab = troubled_tab
    tab.go(f"{guarded.base}/#/overview")
    tab.wait_for("document.activeElement.id === 'token'", what="the focus in the form")
    tab.run(
        "const real = fetch; window.asked = 0; window.fetch = (...all) => { asked += 1; return real(...all); }; 0"
    )
    tab.type("obx_half")
    tab.let_pass(60)
    assert tab.run("[asked, document.querySelector('#token').value]") == [0, "obx_half"]
    assert tab.focused == "input Token"


def test_who_may_only_read_is_told_so(troubled_tab: Tab, guarded: Guarded, story: Story) -> None:
    """The question stays open, with what the API said and the request's id; nothing was done."""
    tab = troubled_tab
    tab.go(f"{guarded.base}/#/endpoints/{story.late.id}")
    sign_in(tab, guarded.reader)
    tab.wait_for_text("Disable …")
    tab.tab_to("button Disable …")
    tab.press("Enter")
    tab.tab_to("button Disable")
    tab.press("Enter")
    tab.wait_for_text("The token dashboard has the scope read; this needs write.", within="dialog")
    assert "Request id" in tab.text("dialog")
    tab.press("Escape")
    assert "Disable …" in tab.text()


def test_kafka_away_is_said_and_the_rest_goes_on(troubled_tab: Tab, guarded: Guarded, story: Story) -> None:
    """Where the tiers would be stands why they are not; endpoints and deliveries are there."""
    tab = troubled_tab
    tab.go(f"{guarded.base}/#/overview")
    sign_in(tab, guarded.reader)
    tab.wait_for_text("Kafka gives no answer")
    tab.wait_for_text("Asked again in")
    tab.wait_for_text(f"{story.down.event_type}.waiting")


def test_an_api_that_was_not_told_of_kafka_says_so_plainly(
    troubled_tab: Tab, site: PageSite, story: Story
) -> None:
    """Once, with the setting's name, and as nothing that passes by itself; all else is up to date."""
    tab = troubled_tab
    reader, entry = new_token("dashboard", "read")
    url = site.pipeline.installation.database_url
    with threaded_api(url, api_tokens=entry, kafka_bootstrap_servers="") as api:
        tab.go(f"{api.base}/#/overview")
        sign_in(tab, reader)
        tab.wait_for_text("OUTBOX_KAFKA_BOOTSTRAP_SERVERS is not set for this API")
        tab.wait_for_text(f"{story.down.event_type}.waiting")
        tab.wait_for_text("Up to date at", within="#state")
        asked = (
            "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/v1/tiers')).length"
        )
        before = tab.run(asked)
        tab.wait_for(f"{asked} > {before}", what="the next question")
        shown = tab.text()
        assert shown.count("OUTBOX_KAFKA_BOOTSTRAP_SERVERS") == 1
        assert "Asked again in" not in shown
        assert "Up to date at" in tab.text("#state")
        assert "Not now" not in tab.text("#announcer")


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html"),
        ("/page/main.js", "text/javascript"),
        ("/page/views/overview.js", "text/javascript"),
        ("/page/base.css", "text/css"),
        ("/page/icon.svg", "image/svg+xml"),
    ],
)
def test_a_browser_is_told_to_run_nothing_else(guarded: Guarded, path: str, media_type: str) -> None:
    """Every file has the policy and its true type, needs no token, and is asked for again with its tag."""
    status, headers, content = asked(guarded.base, path)
    assert (status, bool(content)) == (200, True)
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["Content-Type"] == f"{media_type}; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-cache"
    assert asked(guarded.base, path, If_None_Match=headers["ETag"])[::2] == (304, b"")
    assert asked(guarded.base, path, If_None_Match='"another"')[0] == 200


@pytest.mark.parametrize("path", ["/page/", "/page/files.py", "/page/../access.py", "/page/%2e%2e/access.py"])
def test_nothing_but_the_page_is_served(guarded: Guarded, path: str) -> None:
    """No Python, no folder, no way up."""
    assert asked(guarded.base, path)[0] == 404


def test_the_policy_holds(browser: Chromium, site: PageSite) -> None:
    """Markup made of a text, and a script of one, are refused by the browser itself."""
    with a_tab(browser) as tab:
        tab.go(site.page("#/nothing"))
        for script in (
            "document.body.innerHTML = '<b>x</b>'",
            "const one = document.createElement('script'); one.text = 'window.ran = 1'; document.body.append(one)",
        ):
            tried = (
                f"(() => {{ try {{ {script}; return 'done'; }} catch (error) {{ return error.name; }} }})()"
            )
            assert tab.run(tried) == "TypeError"
        assert tab.run("[window.ran ?? null, window.violations.length]") == [None, 2]
