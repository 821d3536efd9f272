"""A handler that did not exist when events were committed is fed them by a range."""

from __future__ import annotations

from tests.integration.replay.test_commands import answer, run
from tests.integration.replay.test_range import span
from tests.support.pipeline import Pipeline

_HANDLER = "handler:in-a-thread"


def test_a_new_handler_is_fed_history(pipeline: Pipeline) -> None:
    """The one that was named, each event once; another new handler of the same type is not, nor the endpoint again."""
    old = pipeline.mailbox(event_type="handled.well")
    without = pipeline.worker()
    pipeline.wait_until_known(old)
    history = pipeline.append_many("handled.well", 12)
    old.wait_for_events(history)
    assert without.stop() == 0
    pipeline.worker(handlers="tests.support.scripted_handlers")
    begin, end = span(pipeline, history)
    asked = ("--from", begin, "--to", end, "--target", _HANDLER, "--type", "handled.*", "--yes", "--json")
    done = answer(run(pipeline, "replay", "run", *asked))
    assert (done["status"], done["sent"], done["target"]) == ("done", 12, _HANDLER)
    for event_id in history:
        (turn,) = pipeline.attempts.wait_for(event_id, "succeeded", target=_HANDLER)
        assert (turn["replay_id"], turn["attempt"]) == (done["id"], 1)
    log = pipeline.attempts.to_the_end()
    for event_id in history:
        assert sorted(turn["target"] for turn in log.of(event_id)) == sorted([_HANDLER, f"endpoint:{old.id}"])
    assert set(old.repeated()).isdisjoint(map(str, history))
