"""When a poll asks, and when it doesn't: hidden or stopped, and while a question is out. In Chromium, by its clock."""

from __future__ import annotations

import pytest

from tests.support.page_site import PageSite
from tests.support.tab import Tab

#: A poll whose questions are answered, or refused, by the test. `asked`, `shown` and `failures` count.
POLL = """
import('./page/polling.js').then(({ poll }) => {
  Object.assign(window, { asked: 0, shown: [], failures: 0 });
  const ask = () => {
    window.asked += 1;
    return new Promise((answer, refuse) => Object.assign(window, { answer, refuse }));
  };
  const show = (answer) => window.shown.push(answer);
  const failed = () => {
    window.failures += 1;
    if (window.stopsWhenRefused) window.one.stop();
  };
  window.one = poll({ every_ms: 100, ask, show, failed });
  return true;
})
"""


@pytest.fixture
def page(tab: Tab, site: PageSite) -> Tab:
    """A tab in which a poll has asked once, and waits for its answer."""
    tab.go(site.page("#/nothing"))
    tab.run(POLL)
    assert tab.run("asked") == 1
    return tab


def test_hidden_while_a_question_is_out_it_asks_no_more(page: Tab) -> None:
    """The answer is shown, and the next question comes when somebody looks again."""
    page.hide()
    page.run("answer('late')")
    page.wait_for("shown.length === 1", what="the answer")
    page.let_pass(20)
    assert page.run("asked") == 1
    page.show()
    assert page.run("asked") == 2


def test_refused_while_hidden_it_asks_no_more(page: Tab) -> None:
    """The same where the answer is a failure."""
    page.hide()
    page.run("refuse(new Error('no'))")
    page.wait_for("failures === 1", what="the failure")
    page.let_pass(20)
    assert page.run("asked") == 1


def test_stopped_by_its_own_failure_it_asks_no_more(page: Tab) -> None:
    """As a 401 stops it: neither by itself, nor when it is told to, nor when the page is seen again."""
    page.run("window.stopsWhenRefused = true")
    page.run("refuse(new Error('no'))")
    page.wait_for("failures === 1", what="the failure")
    page.let_pass(20)
    page.run("void one.now()")
    page.hide()
    page.show()
    assert page.run("[asked, failures]") == [1, 1]


@pytest.mark.parametrize("ending", ["answer('late')", "refuse(new Error('late'))"])
def test_what_comes_after_it_was_stopped_is_dropped(page: Tab, ending: str) -> None:
    """Neither an answer nor a failure is told, though the question did not heed its signal."""
    page.run("one.stop(); one.stop()")
    page.run(ending)
    page.let_pass(20)
    assert page.run("[asked, shown.length, failures]") == [1, 0, 0]
