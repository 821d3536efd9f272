"""An outage of everything at once doesn't empty the topic into the dead letters."""

from __future__ import annotations

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.support.answers import respond
from tests.support.pipeline import Pipeline


def metrics(port: int) -> dict[str, float]:
    """What a scrape finds, by name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_an_outage_of_all_targets_buries_few_and_all_others_are_delivered(pipeline: Pipeline) -> None:
    """CASES 35: every endpoint answers 404, as behind a proxy that lost its routes; then they work again."""
    pipeline.scheduler()
    worker = pipeline.worker(flood_share=0.5, flood_window_s=5, metrics_listen="127.0.0.1:0")
    [served] = worker.of("metrics_served")
    assert metrics(served["port"])["outbox_flood_guard_open"] == 0
    first = pipeline.mailbox()
    others = [pipeline.mailbox(event_type=first.event_type) for _ in range(2)]
    mailboxes = [first, *others]
    for mailbox in mailboxes:
        pipeline.wait_until_known(mailbox)
        mailbox.answer_with(respond(404))
    ids = pipeline.append_many(f"{first.event_type}.all", 200)

    worker.wait_for("flood_guard_opened")
    assert metrics(served["port"])["outbox_flood_guard_open"] == 1
    for mailbox in mailboxes:
        mailbox.wait_for_events(ids)
    for mailbox in mailboxes:
        mailbox.answer_with(respond(204))
    pipeline.attempts.wait_until(
        lambda log: not any(log.parked(ids, mailbox.id) for mailbox in mailboxes),
        what="the end of what was held",
    )

    buried = {
        (letter.event_id, letter.headers["outbox-target"])
        for letter in pipeline.dead_letters.to_the_end()
        if letter.headers.get("outbox-target") in {f"endpoint:{mailbox.id}" for mailbox in mailboxes}
    }
    assert 0 < len(buried) < 60
    for mailbox in mailboxes:
        for event_id in ids:
            outcomes = pipeline.attempts.outcomes(event_id, mailbox.id)
            died = (str(event_id), f"endpoint:{mailbox.id}") in buried
            assert outcomes[-1] == ("rejected" if died else "succeeded")
            made = [turn["attempt"] for turn in pipeline.attempts.of(event_id, mailbox.id)]
            assert set(made) == {1}
    worker.wait_for("flood_guard_closed")
    told = metrics(served["port"])
    assert told["outbox_flood_guard_open"] == 0
    assert told["outbox_flood_guard_held_total"] >= 3 * len(ids) - len(buried)
