"""Receives signed callbacks of WangTimer, with Python's standard library alone.

WEBHOOK_SECRET="whsec_..." python3 receiver.py 8000
"""

import base64
import hmac
import os
import sys
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

TOLERANCE_S = 300
MOST_BODY_BYTES = 1_048_576
MOST_SEEN = 100_000
# Several, divided by spaces, while one replaces another.
KEYS = [base64.b64decode(one.removeprefix("whsec_")) for one in os.environ["WEBHOOK_SECRET"].split()]

seen: OrderedDict[str, None] = OrderedDict()
lock = Lock()


def is_signed(webhook_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Tell whether one of the signatures is by one of the secrets, and the call of now."""
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > TOLERANCE_S:
        return False
    content = f"{webhook_id}.{timestamp}.".encode() + body
    found = False
    for key in KEYS:
        expected = b"v1," + base64.b64encode(hmac.digest(key, content, "sha256"))
        for signature in signatures.split():
            found |= hmac.compare_digest(expected, signature.encode())
    return found


def act(webhook_id: str, body: bytes) -> None:
    """Put your work here. Better: store the id and what the work does in one transaction of your database."""
    print("acted on", webhook_id, f"({len(body)} bytes)", flush=True)


class Receiver(BaseHTTPRequestHandler):
    """Answers each call: 204 once it is acted on; whatever else lets it come again."""

    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        """Verify the call, and act on it once."""
        self.answer(self.status_of_call())

    def status_of_call(self) -> int:
        """Return the status to answer."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_BODY_BYTES:
            self.close_connection = True
            return 400
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return 400
        webhook_id = self.headers.get("webhook-id", "")
        timestamp = self.headers.get("webhook-timestamp", "")
        if not is_signed(webhook_id, timestamp, self.headers.get("webhook-signature", ""), body):
            return 401
        with lock:  # one at a time: simple, and no firing is acted on twice at once
            if webhook_id not in seen:
                act(webhook_id, body)  # if it raises, the call comes again
                seen[webhook_id] = None
                if len(seen) > MOST_SEEN:
                    seen.popitem(last=False)
        return 204

    def answer(self, status: int) -> None:
        """Answer without a body."""
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no line for each call."""


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
print("listening on", server.server_port, flush=True)
server.serve_forever()
