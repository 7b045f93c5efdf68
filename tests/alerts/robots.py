"""Robots of chat services on loopback: each checks what it gets as its vendor documents it, and answers as that does.

Written from the vendors' pages, not from the code: a sign is computed anew here, in another way where there is one.
"""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

SECRET = "SEC-of-the-robot"
TOKEN = "token-in-the-url"
# How far the clocks of vendor and sender may be apart: an hour.
MOST_APART_S = 3_600


class Got(NamedTuple):
    """A request: its path and query, its headers (names in lower case), its body."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def fields(self) -> Any:
        return json.loads(self.body)


class Said(NamedTuple):
    status: int
    body: str


Check = Callable[[Got], Said]


class Robot:
    """A server that answers by `check`, and keeps what it took; `refusals`: what it answered first, in their order."""

    def __init__(self, check: Check) -> None:
        self.got: list[Got] = []
        self.taken: list[Got] = []
        self.refusals: list[Said] = []
        robot = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                query = {name: one for name, (one,) in parse_qs(parts.query).items()}
                headers = {name.lower(): one for name, one in self.headers.items()}
                got = Got(
                    parts.path, query, headers, self.rfile.read(int(self.headers.get("Content-Length", 0)))
                )
                robot.got.append(got)
                said = robot.refusals.pop(0) if robot.refusals else check(got)
                if said.status == 200 and is_ok(said):
                    robot.taken.append(got)
                self.send_response(said.status)
                self.send_header("Content-Length", str(len(said.body.encode())))
                self.end_headers()
                self.wfile.write(said.body.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def running(check: Check) -> Iterator[Robot]:
    robot = Robot(check)
    try:
        yield robot
    finally:
        robot.close()


def is_ok(said: Said) -> bool:
    return (
        said.body in ("ok", "")
        or json.loads(said.body).get("errcode", json.loads(said.body).get("code")) == 0
    )


def webhook(_got: Got) -> Said:
    return Said(200, "")


def dingtalk(got: Got) -> Said:
    """As open.dingtalk.com has it: access_token, timestamp (ms) and sign in the query."""
    if got.path != "/robot/send" or got.query.get("access_token") != TOKEN:
        return _error(300001, "token is not exist")
    stamp = got.query.get("timestamp", "0")
    if abs(time.time() - int(stamp) / 1_000) > MOST_APART_S:
        return _error(310000, "invalid timestamp")
    digest = hmac.new(SECRET.encode(), f"{stamp}\n{SECRET}".encode(), digestmod=hashlib.sha256).digest()
    # The query is decoded by here: what is compared is Base64, with + and /.
    if got.query.get("sign") != base64.b64encode(digest).decode():
        return _error(310000, "sign not match")
    fields = got.fields
    if not _is_json(got) or fields.get("msgtype") != "text" or not fields["text"]["content"]:
        return _error(40035, "unknown message type")
    return _error(0, "ok")


def wecom(got: Got) -> Said:
    """As developer.work.weixin.qq.com has it: the key in the query, text of up to 2,048 bytes."""
    if got.path != "/cgi-bin/webhook/send" or got.query != {"key": TOKEN}:
        return _error(93000, "invalid webhook url")
    fields = got.fields
    if fields.get("msgtype") != "text":
        return _error(40008, "invalid message type")
    if len(fields["text"]["content"].encode()) > 2_048:
        return _error(40058, "text.content exceed max length 2048")
    return _error(0, "ok")


def feishu(got: Got) -> Said:
    """As open.feishu.cn has it: timestamp (s) and sign in the body; what is to sign is the key, nothing is signed."""
    if got.path != f"/open-apis/bot/v2/hook/{TOKEN}":
        return Said(
            200, json.dumps({"code": 19001, "msg": "param invalid: incoming webhook access token invalid"})
        )
    fields = got.fields
    stamp = str(fields.get("timestamp"))
    digest = hmac.new(f"{stamp}\n{SECRET}".encode(), digestmod=hashlib.sha256).digest()
    if (
        not isinstance(fields.get("timestamp"), str)
        or abs(time.time() - int(stamp)) > MOST_APART_S
        or fields.get("sign") != base64.b64encode(digest).decode()
    ):
        return Said(
            200,
            json.dumps(
                {
                    "code": 19021,
                    "msg": "sign match fail or timestamp is not within one hour from current time",
                }
            ),
        )
    if fields.get("msg_type") != "text" or not fields["content"]["text"] or len(got.body) > 20_000:
        return Said(200, json.dumps({"code": 9499, "msg": "Bad Request"}))
    return Said(200, json.dumps({"StatusCode": 0, "StatusMessage": "success", "code": 0, "msg": "success"}))


def slack(got: Got) -> Said:
    """As api.slack.com has it: text with &, < and > escaped; an error is a status and a word."""
    if got.path != f"/services/T0/B0/{TOKEN}":
        return Said(403, "invalid_token")
    fields = got.fields
    if not isinstance(fields.get("text"), str) or not fields["text"]:
        return Said(400, "no_text")
    bare = fields["text"].replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    if set(bare) & set("<>&"):
        return Said(400, "invalid_payload")
    return Said(200, "ok")


def _error(code: int, text: str) -> Said:
    return Said(200, json.dumps({"errcode": code, "errmsg": text}))


def _is_json(got: Got) -> bool:
    return got.headers["content-type"].startswith("application/json")
