"""The page moves by itself: bars fill and drain, lists grow, and whoever types or reads is left alone."""

from __future__ import annotations

from tests.support.answers import respond
from tests.support.eventually import eventually
from tests.support.page_site import PageSite, Story
from tests.support.tab import Tab

PARKED = 12
SHARES = "[...document.querySelectorAll('.fill')].map((one) => Number(one.style.getPropertyValue('--share')))"
WAITING = (
    "[...document.querySelectorAll('.tiers tbody td:nth-child(2)')]"
    ".reduce((sum, one) => sum + Number(one.innerText.replace(',', '')), 0)"
)


def test_tiers_fill_and_drain(tab: Tab, site: PageSite) -> None:
    """Failing deliveries are seen as they are parked, by number and by bar, and gone when they are moved on."""
    mailbox = site.pipeline.mailbox(respond(503))
    site.pipeline.wait_until_known(mailbox)
    site.scheduler.freeze()
    try:
        tab.go(site.page("#/overview"))
        tab.wait_for("!!document.querySelector('.tiers')", what="the tiers")
        before = site.waiting()
        site.pipeline.append_many(f"{mailbox.event_type}.parked", PARKED)
        eventually(lambda: site.waiting() >= before + PARKED, what="the parked deliveries")
        tab.wait_for(f"{WAITING} >= {before + PARKED}", what="their number on the page")
        assert max(tab.run(SHARES)) == 1
        mailbox.answer_with(respond(204))
    finally:
        site.scheduler.thaw()
    tab.wait_for(f"{WAITING} < {before + PARKED}", what="fewer on the page", timeout_s=60)


def test_whoever_types_or_reads_is_left_alone(tab: Tab, site: PageSite, story: Story) -> None:
    """While a list is drawn anew: a field keeps its text, a row its focus, the page its place, what is open too."""
    mailbox = site.pipeline.mailbox(respond(204))
    site.pipeline.wait_until_known(mailbox)
    first = site.pipeline.append(f"{mailbox.event_type}.first")
    site.delivery(first, status="succeeded")
    tab.resize(1280, 300)
    tab.go(site.page(f"#/deliveries?endpoint_id={mailbox.id}"))
    tab.wait_for_text(f"{mailbox.event_type}.first")
    tab.tab_to("input Event type")
    tab.type("half a wor")
    tab.tab_to(f"a {mailbox.event_type}.first")
    assert tab.run("scrollY") > 0
    second = site.pipeline.append(f"{mailbox.event_type}.second")
    site.delivery(second, status="succeeded")
    tab.wait_for_text(f"{mailbox.event_type}.second")
    assert tab.focused == f"a {mailbox.event_type}.first"
    assert tab.run("scrollY") > 0
    assert tab.run("document.querySelector('#by-event_type').value") == "half a wor"

    tab.go(site.page(f"#/deliveries/{site.delivery(story.waiting, status='retrying')}"))
    tab.wait_for_text("What the receiver said")
    tab.run("document.querySelector('details').open = true")
    seen = "document.querySelectorAll('.turns li').length"
    turns = tab.run(seen)
    tab.wait_for(f"{seen} > {turns}", what="another turn", timeout_s=60)
    assert tab.run("document.querySelector('details').open")


def test_an_api_that_is_away_is_said_once_and_what_was_seen_stays(
    troubled_tab: Tab, site: PageSite, story: Story
) -> None:
    """With when it is asked again; and once it answers, the notice is gone."""
    tab = troubled_tab
    tab.go(site.page(f"#/deliveries?event_id={story.delivered}"))
    tab.wait_for_text(f"{story.late.event_type}.delivered")
    tab.go_offline()
    tab.wait_for_text("The API can't be reached")
    tab.wait_for_text("No answer.", within="#announcer")
    assert f"{story.late.event_type}.delivered" in tab.text()
    tab.go_online()
    tab.wait_for_text("Answers come again.", within="#announcer", timeout_s=60)
    assert "The API can't be reached" not in tab.text()


def test_nothing_is_asked_while_nobody_looks(tab: Tab, site: PageSite, story: Story) -> None:
    """Hidden, it is silent; seen again, it asks at once."""
    tab.go(site.page(f"#/deliveries?event_id={story.delivered}"))
    tab.wait_for_text(f"{story.late.event_type}.delivered")
    asked = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v1/')).length"
    tab.hide()
    before = tab.run(asked)
    tab.let_pass(20)  # far beyond its next question
    assert tab.run(asked) == before
    tab.show()
    tab.wait_for(f"{asked} > {before}", what="the next question")
