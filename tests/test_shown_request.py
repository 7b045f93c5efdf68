"""What may be shown of a request to a target."""

import pytest

from wangtimer.timers.shown_request import shown_header, shown_target


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "proxy-authorization",
        "COOKIE",
        "X-Api-Key",
        "x_api_key",
        "X-Functions-Key",
        "Ocp-Apim-Subscription-Key",
        "X-Jwt",
        "X-Hmac",
        "X-Passphrase",
        "X-OTP",
        "X-Sid",
        "X-Bearer",
        "Referer",
        "X-Anything",
    ],
)
def test_no_header_is_shown_unless_it_is_known_to_be_harmless(name: str) -> None:
    assert shown_header(name, "sesame") == "***"


@pytest.mark.parametrize(
    "name", ["Content-Type", "ACCEPT", "webhook-id", "Host", "X-WangTimer-App", "Idempotency-Key"]
)
def test_harmless_headers_are_shown(name: str) -> None:
    assert shown_header(name, "text") == "text"


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "sig",
        "key",
        "code",
        "pass",
        "passphrase",
        "jwt",
        "api+key",
        "api%5Fkey",
        "X-Amz-Signature",
        "Policy.Sig",
        "oauth_nonce",
        "client_secret",
        "PASSWORD",
        "%73ig",
        "sid",
        "otp",
    ],
)
def test_a_query_value_with_the_name_of_a_secret_is_not_shown(name: str) -> None:
    assert (
        shown_target(f"http://a.example/x?{name}=abc&order=42") == f"http://a.example/x?{name}=***&order=42"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "http://a.example/x?order=42&author=kim&signal=on",
            "http://a.example/x?order=42&author=kim&signal=on",
        ),
        ("http://a.example?flag", "http://a.example?flag"),
        ("http://a.example?v=1234567890abcdef12345", "http://a.example?v=***"),
        ("http://a.example?1234567890abcdef12345", "http://a.example?***"),
        ("http://a.example?to=http://me:pw@b", "http://a.example?to=***"),
        ("http://a.example?to=http%3A%2F%2Fme%3Apw%40b", "http://a.example?to=***"),
        ("http://me:pass@a.example/x@y", "http://***@a.example/x@y"),
        ("http://me:pass@a.example?x=1", "http://***@a.example?x=1"),
        ("http://a.example", "http://a.example"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert shown_target(url) == shown
