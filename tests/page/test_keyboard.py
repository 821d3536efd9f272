"""The page by keyboard alone: nothing is clicked here."""

from __future__ import annotations

from streams.replay.pace import DEFAULT_RATE_PER_S
from tests.support.answers import respond
from tests.support.eventually import eventually
from tests.support.page_site import PageSite, Story
from tests.support.tab import Tab

QUESTION = "!!document.querySelector('dialog[open]')"
REPLAY = "location.hash.startsWith('#/replays/')"
BOXES = "document.querySelectorAll('tbody input').length"
TICKED = "[...document.querySelectorAll('tbody input')].filter((one) => one.checked).length"


def test_the_content_is_one_key_away(tab: Tab, site: PageSite) -> None:
    """The first Tab is at the skip link; it leads into the content, and the address stays."""
    tab.go(site.page("#/replays"))
    tab.press("Tab")
    assert tab.focused == "a Skip to the content"
    tab.press("Enter")
    assert tab.run("[document.activeElement.id, location.hash]") == ["main", "#/replays"]


def test_a_delivery_is_found_opened_and_sent_again(tab: Tab, site: PageSite, story: Story) -> None:
    """Navigate, filter, open, resend; the focus is where one goes on, and the receiver gets it once more."""
    tab.go(site.page())
    tab.wait_for_text("What waits")
    tab.tab_to("a Deliveries")
    tab.press("Enter")
    tab.wait_for("location.hash === '#/deliveries'", what="the view")
    assert tab.focused == "h1 Deliveries"

    tab.tab_to("input Event id")
    tab.type(str(story.delivered))
    tab.press("Enter")
    tab.wait_for(f"location.hash.includes('{story.delivered}')", what="the filter in the address")
    assert tab.focused == "h2 Found"
    tab.wait_for("document.querySelectorAll('tbody tr').length === 1", what="the one delivery")

    tab.tab_to(f"a {story.late.event_type}")
    tab.press("Enter")
    tab.wait_for_text("Attempt 3")
    assert tab.focused == "h1 Delivery"

    before = len(story.late.of(story.delivered))
    tab.tab_to("button Send it again")
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    tab.press("Escape")
    tab.wait_for("!document.querySelector('dialog')", what="the end of the question")
    assert tab.focused == "button Send it again …"
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    tab.tab_to("button Send it again")
    tab.press("Enter")
    tab.wait_for(REPLAY, what="the replay")
    tab.wait_for_text("done")
    eventually(lambda: len(story.late.of(story.delivered)) > before, what="the event, once more")
    assert len(story.late.of(story.delivered)) == before + 1


def test_dead_letters_are_chosen_and_redriven(tab: Tab, site: PageSite) -> None:
    """Tick, redrive, confirm: the target gets it again, the letter says so, and another stays open until discarded."""
    mailbox = site.pipeline.mailbox(respond(422))
    site.pipeline.wait_until_known(mailbox)
    event = site.pipeline.append(f"{mailbox.event_type}.redriven")
    other = site.pipeline.append(f"{mailbox.event_type}.discarded")
    letter, rest = (site.dead_letter(one) for one in (event, other))
    mailbox.answer_with(respond(204))

    tab.go(site.page(f"#/dead-letters?class=undelivered&target=endpoint:{mailbox.id}"))
    tab.wait_for_text(f"{mailbox.event_type}.redriven")
    tab.tab_to(f"input Choose {mailbox.event_type}.redriven")
    tab.press(" ")
    tab.wait_for_text("1 is chosen")
    tab.tab_to("button Redrive", shift=True)
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    assert "Redrive 1 dead letter?" in tab.text("dialog")
    tab.tab_to("button Redrive 1 dead letter")
    tab.press("Enter")
    tab.wait_for(REPLAY, what="the replay")
    site.delivery(event, status="succeeded")
    assert site.dead_letter(event, status="redriven") == letter
    assert site.dead_letter(other) == rest

    tab.go(site.page(f"#/dead-letters/{rest}"))
    tab.wait_for_text("Discard")
    tab.tab_to("button Discard")
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    assert tab.focused == "button Cancel"
    tab.tab_to("button Discard 1 dead letter", shift=True)
    tab.press("Enter")
    tab.wait_for_text("discarded")
    assert site.dead_letter(other, status="discarded") == rest


def test_what_is_chosen_is_what_is_ticked(tab: Tab, site: PageSite) -> None:
    """All, none, and each by itself; and it is what the question counts: discarding can't be undone."""
    mailbox = site.pipeline.mailbox(respond(422))
    site.pipeline.wait_until_known(mailbox)
    kind = f"{mailbox.event_type}.chosen"
    first, second, third = (site.dead_letter(site.pipeline.append(kind)) for _ in range(3))

    def expect(chosen: int, said: str) -> None:
        tab.wait_for_text(said)
        assert tab.run(TICKED) == chosen

    tab.go(site.page(f"#/dead-letters?class=undelivered&event_type={kind}"))
    tab.wait_for(f"{BOXES} === 3", what="the three letters")
    tab.tab_to(f"input Choose {kind} {second}")
    tab.press(" ")
    expect(1, "1 is chosen")
    tab.tab_to("button Choose all on this page", shift=True)
    for chosen, said in ((3, "3 are chosen"), (0, "0 are chosen"), (3, "3 are chosen")):
        tab.press("Enter")
        expect(chosen, said)
    tab.tab_to(f"input Choose {kind} {first}")
    tab.press(" ")
    expect(2, "2 are chosen")
    tab.tab_to("button Discard", shift=True)
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    assert "Discard 2 dead letters?" in tab.text("dialog")
    tab.tab_to("button Discard 2 dead letters", shift=True)
    tab.press("Enter")
    tab.wait_for(f"{BOXES} === 1", what="the one that is left")
    assert first in tab.run("document.querySelector('tbody input').ariaLabel")
    expect(0, "0 are chosen")
    kept = site.get(f"/v1/dead-letters?event_type={kind}&status=discarded")["items"]
    assert {item["id"] for item in kept} == {second, third}


def test_what_could_not_be_read_is_given_to_the_workers_again(tab: Tab, site: PageSite) -> None:
    """After a question that says when that helps. It doesn't here: the replay says so, and the letter is open again."""
    before = set(site.unreadable())
    site.spoil()
    [letter] = eventually(lambda: set(site.unreadable()) - before or None, what="the letter")
    tab.go(site.page(f"#/dead-letters/{letter}"))
    tab.wait_for_text("EVENT_MALFORMED")
    tab.tab_to("button Redrive")
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    assert "once they can read it" in tab.text("dialog")
    tab.tab_to("button Redrive 1 dead letter")
    tab.press("Enter")
    tab.wait_for(REPLAY, what="the replay")
    tab.wait_for_text("are open again")
    assert letter in site.unreadable()


def test_an_endpoint_is_disabled_and_enabled(tab: Tab, site: PageSite) -> None:
    """A test event is offered while it is enabled only; what is done is announced."""
    mailbox = site.pipeline.mailbox(respond(204))
    tab.go(site.page(f"#/endpoints/{mailbox.id}"))
    tab.wait_for_text("Disable …")
    for button, state in (("Disable", "disabled"), ("Enable", "enabled")):
        tab.tab_to(f"button {button} …")
        tab.press("Enter")
        tab.wait_for(QUESTION, what="the question")
        tab.tab_to(f"button {button}")
        tab.press("Enter")
        tab.wait_for_text(f"It is {state}.", within="#announcer")
        offered = "document.querySelector('main').innerText.includes('Send a test event')"
        tab.wait_for(offered if state == "enabled" else f"!{offered}", what=state)


def test_an_endpoint_is_recovered(tab: Tab, site: PageSite, story: Story) -> None:
    """Since a time; how far it is stands on the replay's own view."""
    tab.go(site.page(f"#/endpoints/{story.late.id}"))
    tab.wait_for_text("Recover …")
    tab.tab_to("button Recover")
    tab.press("Enter")
    tab.wait_for(QUESTION, what="the question")
    assert f"At most so many a second (empty: {DEFAULT_RATE_PER_S:g})" in tab.text("dialog")
    tab.tab_to("button Recover")
    tab.press("Enter")
    tab.wait_for(REPLAY, what="the replay")
    tab.wait_for_text("recovery")
    tab.wait_for_text("done", timeout_s=60)
    tab.go(site.page("#/replays"))
    tab.wait_for_text("recovery")
