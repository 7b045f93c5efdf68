"""Signed callbacks received under Flask, FastAPI and Django: verified, acted on once, refused when forged."""

import asyncio
import base64
import json
import logging
import time
from collections.abc import Callable
from typing import Any

import django
import pytest
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.urls import clear_url_caches, path
from fastapi import FastAPI
from flask import Flask

from tests.client.test_receiver import asked
from tests.made_requests import made_request
from wangtimer.client import BadSignature, ReceivedCall, Receiver, Verification
from wangtimer.client.receive import django_view, flask_view, starlette_endpoint
from wangtimer.core.flow.firing import Member
from wangtimer.core.timers.timer import Notify

KEY, ANOTHER = b"k" * 32, b"a" * 32
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
MEMBER = Member(7, 1_795_207_483_123, 1)
BODY = '{"order": 42, "note": "好"}'
Answered = tuple[int, str]
Ask = Callable[[dict[str, str], bytes], Answered]


def signed(*keys: bytes, off_s: int = 0) -> dict[str, str]:
    request = made_request(
        Notify("http://target.example/", body=BODY), "商店", MEMBER, keys, int(time.time()) + off_s
    )
    return dict(request.headers) | {"Content-Length": str(len(request.body))}


def by_wsgi(app: Callable[..., Any]) -> Ask:
    """Ask an application as a web server does."""

    def ask(headers: dict[str, str], body: bytes) -> Answered:
        def with_path(environ: dict[str, Any], start_response: Any) -> Any:
            environ |= {
                "REQUEST_METHOD": "POST", "PATH_INFO": "/expire", "SCRIPT_NAME": "", "SERVER_NAME": "localhost",
                "SERVER_PORT": "80", "wsgi.url_scheme": "http", "SERVER_PROTOCOL": "HTTP/1.1",
            }  # fmt: skip
            return app(environ, lambda status, answered, *_: start_response(status, answered))

        others = {name: value for name, value in headers.items() if name != "Content-Length"}
        status, text = asked(with_path, others, body, headers["Content-Length"])  # type: ignore[arg-type]
        return int(status.split()[0]), text

    return ask


def by_asgi(app: Any) -> Ask:
    """Ask an application as an ASGI server does; the body comes in two parts."""

    def ask(headers: dict[str, str], body: bytes) -> Answered:
        parts = [body[:5], body[5:]]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            part = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/expire", "raw_path": b"/expire", "query_string": b"", "root_path": "", "headers": raw,
            "server": ("localhost", 80), "client": ("localhost", 1),
        }  # fmt: skip
        asyncio.run(app(scope, receive, send))
        return sent[0]["status"], b"".join(one.get("body", b"") for one in sent).decode()

    return ask


def under_flask(receiver: Receiver) -> Ask:
    app = Flask("receiver")
    app.add_url_rule("/expire", view_func=flask_view(receiver), methods=["POST"])
    return by_wsgi(app)


def under_fastapi(receiver: Receiver) -> Ask:
    app = FastAPI()
    app.add_api_route("/expire", starlette_endpoint(receiver), methods=["POST"])
    return by_asgi(app)


class Urls:
    """Django's table of URLs."""

    urlpatterns: list[Any] = []  # noqa: RUF012


def under_django(receiver: Receiver) -> Ask:
    if not settings.configured:
        settings.configure(
            SECRET_KEY="for a test",
            ALLOWED_HOSTS=["*"],
            ROOT_URLCONF=Urls,
            MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
            LOGGING_CONFIG=None,
        )
        django.setup()
    Urls.urlpatterns = [path("expire", django_view(receiver))]
    clear_url_caches()
    return by_wsgi(WSGIHandler())


def under_wsgi(receiver: Receiver) -> Ask:
    return by_wsgi(receiver)


@pytest.fixture(params=[under_wsgi, under_flask, under_fastapi, under_django])
def under(request: pytest.FixtureRequest) -> Callable[[Receiver], Ask]:
    return request.param


def test_a_signed_call_is_acted_on_once(under: Callable[[Receiver], Ask]) -> None:
    calls: list[ReceivedCall] = []
    ask = under(Receiver(calls.append, secrets=[SECRET]))
    for _ in range(3):
        assert ask(signed(KEY), BODY.encode()) == (204, "")
    (call,) = calls
    assert (call.id, call.app, json.loads(call.body)) == (
        "7-1795207483123",
        "商店",
        {"order": 42, "note": "好"},
    )


def test_either_secret_of_a_rotation_will_do(under: Callable[[Receiver], Ask]) -> None:
    ask = under(Receiver(lambda _: None, secrets=[SECRET]))
    assert ask(signed(ANOTHER, KEY), BODY.encode())[0] == 204
    both = under(Receiver(lambda _: None, secrets=[f"whsec_{base64.b64encode(ANOTHER).decode()}", SECRET]))
    assert both(signed(KEY), BODY.encode())[0] == 204


# Made when a test runs: a signature ages.
FORGED: dict[str, tuple[Callable[[], dict[str, str]], str, str]] = {
    "another's": (lambda: signed(ANOTHER), BODY, "no signature of the request is by a secret"),
    "none": (signed, BODY, "no header webhook-timestamp: it is not signed"),
    "another body": (lambda: signed(KEY), BODY.replace("42", "43"), "or the body was changed on the way"),
    "old": (lambda: signed(KEY, off_s=-400), BODY, "s old"),
    "ahead": (lambda: signed(KEY, off_s=400), BODY, "s ahead"),
    "no number": (lambda: signed(KEY) | {"webhook-timestamp": "soon"}, BODY, "not a number of seconds"),
    "too long": (lambda: signed(KEY) | {"webhook-timestamp": "9" * 400}, BODY, "not a number of seconds"),
    "no base64": (lambda: signed(KEY) | {"webhook-signature": "v1,é v1a,x  "}, BODY, "no signature"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_forged_or_replayed_is_refused(under: Callable[[Receiver], Ask], forged: str) -> None:
    headers, body, reason = FORGED[forged]
    calls: list[ReceivedCall] = []
    status, text = under(Receiver(calls.append, secrets=[SECRET]))(headers(), body.encode())
    assert (status, calls) == (401, [])
    assert reason in text


def test_a_failed_act_is_told_and_tried_again(
    under: Callable[[Receiver], Ask], caplog: pytest.LogCaptureFixture
) -> None:
    acts = iter([ZeroDivisionError("by chance"), None])

    def act(_: ReceivedCall) -> None:
        if (error := next(acts)) is not None:
            raise error

    ask = under(Receiver(act, secrets=[SECRET]))
    with caplog.at_level(logging.ERROR):
        status, text = ask(signed(KEY), BODY.encode())
    assert status == 500
    assert "by chance" in text + caplog.text
    assert f"webhook-id {MEMBER.firing_id}, timer {MEMBER.timer_id}, attempt " in text + caplog.text
    assert ask(signed(KEY), BODY.encode()) == (204, "")


def test_a_body_that_was_cut_off_is_refused_without_secrets_too(under: Callable[[Receiver], Ask]) -> None:
    calls: list[ReceivedCall] = []
    headers = signed() | {"Content-Length": str(len(BODY.encode()) + 1)}
    status, _ = under(Receiver(calls.append))(headers, BODY.encode())
    assert (status, calls) == (400, [])


@pytest.mark.parametrize(
    "secrets", [[], ["secret"], [SECRET.removeprefix("whsec_")], ["whsec_"], ["whsec_%"]]
)
def test_what_is_no_secret_is_refused_at_the_start(secrets: list[str]) -> None:
    with pytest.raises(ValueError, match=r"whsec_|no secret is given"):
        Receiver(lambda _: None, secrets=secrets)


def test_a_tolerance_of_ones_own_counts() -> None:
    headers = {name.lower(): value for name, value in signed(KEY, off_s=-400).items()}
    Verification([SECRET], tolerance_s=500).check(headers, BODY.encode())
    with pytest.raises(BadSignature):
        Verification([SECRET], tolerance_s=100).check(headers, BODY.encode())
