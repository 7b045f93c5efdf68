import pytest

from tests.callback.calls import Outcomes


def received_by(engine, target, outcomes: Outcomes, **request):
    engine.submit([outcomes.call(target.url + "path?q=1", **request)])
    (reply,) = outcomes.wait(1)
    assert reply.error == ""
    (received,) = target.requests
    return received


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("body", [b"", '{"词": "\\u0000"}\r\n'.encode() + b"\x00\xff"])
def test_method_path_and_body_arrive_as_given(engine, target, outcomes, method: str, body: bytes) -> None:
    received = received_by(engine, target, outcomes, method=method, body=body)
    assert (received.method, received.path, received.body) == (method, "/path?q=1", body)


def test_headers_arrive_as_given_equal_names_and_empty_values_too(engine, target, outcomes) -> None:
    headers = (
        ("x-tag", "one"),
        ("X-Other", "a: b; c"),
        ("x-tag", "two"),
        ("x-empty", ""),
        ("x-zh", "定时器"),
    )
    received = received_by(engine, target, outcomes, headers=headers)
    assert received.values("x-tag") == ["one", "two"]
    assert received.values("x-other") == ["a: b; c"]
    assert received.values("x-empty") == [""]
    assert received.values("x-zh") == ["定时器"]


def test_nothing_but_the_needed_headers_is_added(engine, target, outcomes) -> None:
    received = received_by(engine, target, outcomes)
    assert {name for name, _ in received.headers} == {"host", "accept", "content-length", "user-agent"}
    assert received.values("user-agent")[0].startswith("WangTimer/")


def test_a_given_content_type_and_user_agent_are_the_only_ones(engine, target, outcomes) -> None:
    headers = (("Content-Type", "application/json"), ("User-Agent", "mine"))
    received = received_by(engine, target, outcomes, headers=headers)
    assert received.values("content-type") == ["application/json"]
    assert received.values("user-agent") == ["mine"]


def test_a_large_body_does_not_wait_for_100_continue(engine, target, outcomes) -> None:
    body = b"x" * 2_000_000
    received = received_by(engine, target, outcomes, body=body)
    assert received.values("expect") == []
    assert received.body == body


def test_a_handle_used_again_carries_nothing_over(engine, target, outcomes) -> None:
    requests = [
        {"method": "POST", "body": b"one", "headers": (("x-a", "1"), ("content-type", "text/plain"))},
        {"method": "GET", "body": b"", "headers": ()},
        {"method": "DELETE", "body": b"", "headers": (("x-b", "2"),)},
        {"method": "GET", "body": b"two", "headers": (("x-b", "2"),)},
        {"method": "GET", "body": b"", "headers": ()},
        {"method": "PUT", "body": b"one", "headers": ()},
    ]
    for number, request in enumerate(requests, 1):
        engine.submit([outcomes.call(target.url, **request)])
        outcomes.wait(number)
    added = {"host", "accept", "content-length", "user-agent"}
    for request, received in zip(requests, target.requests, strict=True):
        assert (received.method, received.body) == (request["method"], request["body"])
        assert tuple(header for header in received.headers if header[0] not in added) == request["headers"]


def test_proxies_in_the_environment_are_ignored(new_engine, new_target, outcomes, monkeypatch) -> None:
    proxy, target = new_target(), new_target()
    for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    new_engine().submit([outcomes.call(target.url)])
    assert outcomes.wait(1)[0].succeeded
    assert not proxy.requests


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "dict://127.0.0.1"]
)
def test_only_http_and_https_are_spoken(engine, outcomes, url: str) -> None:
    engine.submit([outcomes.call(url)])
    (reply,) = outcomes.wait(1)
    assert "disabled" in reply.error
    assert (reply.http_status, reply.output, reply.was_sent) == (None, "", False)


@pytest.mark.parametrize(
    "url", ["", "http://", "http://a b/", "http://[::1", "http://a:99999/", "http://\ud800/", "http://a\0b/"]
)
def test_a_bad_url_becomes_a_reply_with_an_error(engine, target, outcomes, url: str) -> None:
    engine.submit([outcomes.call(url), outcomes.call(target.url)])
    outcomes.wait(2)
    by_url = {call.request.url: reply for call, reply in outcomes.replies}
    assert by_url[url].error
    assert not by_url[url].was_sent
    assert by_url[target.url].succeeded
