"""A receiver of webhooks in Python: verify first, remember the id, answer soon. Needs `pip install standardwebhooks`.

WEBHOOK_SECRET=whsec_… PORT=8000 python receiver.py
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
seen: set[str] = set()  # yours: a unique column in your database, written with what the event changes


class Receiver(BaseHTTPRequestHandler):
    """Answers 204 to what is genuine, 400 to all else."""

    def do_POST(self) -> None:
        """Take one webhook."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            # Over the bytes as they came: JSON that was read and written again has other bytes.
            webhook.verify(body, dict(self.headers))
        except Exception:  # noqa: BLE001 - whatever is wrong with it, it is not genuine
            self.answer(400)
            return
        event_id = self.headers["webhook-id"]
        if event_id not in seen:  # the same event may come more than once
            seen.add(event_id)
            print(f"received {self.headers['webhook-event-type']} {event_id}", flush=True)
        self.answer(204)

    def answer(self, status: int) -> None:
        """Answer without a body."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Receiver)
print(f"listening on {server.server_port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    sys.exit(0)
