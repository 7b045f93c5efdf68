"""What may be shown of a request to a target."""

import pytest

from wangtimer.shown_request import is_secret, shown_header, shown_target


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        "COOKIE",
        "X-Api-Key",
        "x_api_key",
        "X-Auth-Token",
        "X-Hub-Signature",
        "password",
        "client_secret",
    ],
)
def test_what_names_like_these_hold_is_not_shown(name: str) -> None:
    assert is_secret(name)
    assert shown_header(name, "sesame") == "***"


@pytest.mark.parametrize(
    "name", ["Content-Type", "X-Tag", "webhook-id", "Host", "X-Author", "Idempotency-Key", "key"]
)
def test_others_are_shown(name: str) -> None:
    assert shown_header(name, "text") == "text"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a.example/x?order=42", "http://a.example/x?order=42"),
        ("http://a.example/x?token=abc&order=42", "http://a.example/x?token=***&order=42"),
        ("http://a.example?api%5Fkey=abc&flag", "http://a.example?api%5Fkey=***&flag"),
        ("http://me:pass@a.example/x@y", "http://***@a.example/x@y"),
        ("http://a.example", "http://a.example"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert shown_target(url) == shown
