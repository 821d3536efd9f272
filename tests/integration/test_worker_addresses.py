"""The worker as it is installed judges every address that it dials."""

from __future__ import annotations

import socket

from tests.support.pipeline import Pipeline


def test_an_endpoint_inside_is_blocked_in_every_form(pipeline: Pipeline) -> None:
    """CASES 20: without an allowed network, loopback and metadata are a dead letter each, and nobody is dialled.

    `tests/unit/webhook/test_address.py` has the forms; this shows that the worker asks that judge.
    """
    plain = pipeline.mailbox()
    port = plain.endpoint.target.origin.port
    urls = (
        f"http://localhost:{port}/in",
        f"http://[::ffff:127.0.0.1]:{port}/in",
        f"http://[::ffff:7f00:1]:{port}/in",
        f"http://[::1]:{port}/in",
        f"http://0.0.0.0:{port}/in",
        f"http://{socket.gethostname()}:{port}/in",
        "http://169.254.169.254/latest/meta-data",
        "http://[64:ff9b::a9fe:a9fe]/latest/meta-data",
        "http://[fd00:ec2::254]/latest/meta-data",
    )
    others = [pipeline.mailbox(event_type=plain.event_type, url=url) for url in urls]
    pipeline.worker(endpoint_allowed_networks="203.0.113.0/24", endpoint_schedule="1s")
    event_id = str(pipeline.append(plain.event_type))
    targets = {f"endpoint:{mailbox.id}" for mailbox in (plain, *others)}
    letters = pipeline.dead_letters.wait_until(
        lambda letters: sum(letter.event_id == event_id for letter in letters) >= len(targets),
        what="dead letter for each endpoint",
    )
    codes = {
        letter.headers["outbox-target"]: letter.headers["outbox-error-code"]
        for letter in letters
        if letter.event_id == event_id
    }
    assert codes == dict.fromkeys(targets, "ENDPOINT_BLOCKED")
    assert not plain.of(event_id)
    assert not [r for r in plain.receiver.requests_to("/in") if r.headers["webhook-id"] == event_id]
