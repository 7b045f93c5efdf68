"""What goes out without libcurl goes out as libcurl would send it, byte for byte."""

import socket
from collections.abc import Iterator
from threading import Thread

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.callback.calls import MachineClock, Outcomes
from tests.callback.target import NO_CONTENT
from wangtimer.callback import DeliveryEngine, Request

PIECE = st.sampled_from([*"abcXYZ019-_~!$&'()*+,;=:@?", "/", "//", "a.", "..b"]) | st.from_regex(
    "%[013-9A-F][0-9A-F]", fullmatch=True
)
PATH = st.lists(PIECE, max_size=20).map(lambda pieces: "/" + "".join(pieces))
TOKEN = st.text("abcXYZ019-_!#$%&'*+.^`|~", min_size=1, max_size=8)
VALUE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs", "Cc"]), max_size=12)
KNOWN = st.sampled_from(
    ["Content-Type", "X-A", "Cookie", "Authorization", "Range", "Referer", "Accept-Encoding"]
)


class Recorder:
    """Keeps the bytes of each connection's only request; answers, and closes."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.received: list[bytes] = []
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                data = b""
                while END_OF_BODY not in data and (more := connection.recv(65_536)):
                    data += more
                self.received.append(data)
                connection.sendall(NO_CONTENT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


END_OF_BODY = b"<the end>"


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


@pytest.fixture(scope="module")
def shared_engine() -> Iterator[DeliveryEngine]:
    engine = DeliveryEngine(MachineClock())
    engine.start()
    yield engine
    engine.stop(0)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=PATH,
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    headers=st.lists(st.tuples(TOKEN | KNOWN, VALUE | st.just("")), max_size=4).map(tuple),
    begin=st.binary(max_size=40),
)
def test_a_request_is_the_same_either_way(recorder, shared_engine, path, method, headers, begin) -> None:
    url = f"http://127.0.0.1:{recorder.port}{path}"
    assume(Request(url, method, headers, b"").wire is not None)
    sent = []
    # What follows a "#" is not sent; it is for libcurl to leave away.
    for each in (url, url + "#libcurl"):
        outcomes = Outcomes()
        shared_engine.submit([outcomes.call(each, method=method, headers=headers, body=begin + END_OF_BODY)])
        (reply,) = outcomes.wait(1)
        assert reply.succeeded, reply
        sent.append(recorder.received.pop())
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    "url",
    [
        "http://target/",
        "http://target",
        "http://target:80/path",
        "http://10.0.0.255:65535/a/b?c=d&e=%20f",
        "http://a-b.c_d.example:8080/x;y=1,2/(z)!*'",
    ],
)
def test_what_libcurl_sends_as_it_stands_goes_without_it(url: str) -> None:
    assert Request(url, "POST", (), b"").wire is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://target/",
        "HTTP://target/",
        "http://Target/",
        "http://target:65536/",
        "http://target:080/",
        "http://target?q=1",
        "http://user:secret@target/",
        "http://127.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://010.0.0.1/",
        "http://256.0.0.1/",
        "http://[::1]/",
        "http://target./",
        "http://定时.example/",
        "http://target/#part",
        "http://target/../up",
        "http://target/a/./b",
        "http://target/.",
        "http://target/%2E%2E/up",
        "http://target/%2f",
        "http://target/50%",
        "http://target/a b",
        "http://target/定",
        "http://target/a\r\nX-Evil: 1",
        "http://target/a\n",
        "http://target\n/",
        "ftp://target/",
        "",
    ],
)
def test_what_libcurl_makes_something_else_of_is_left_to_it(url: str) -> None:
    assert Request(url, "POST", (), b"").wire is None


@pytest.mark.parametrize("name", ["Host", "user-agent", "ACCEPT", "Expect", "Connection"])
def test_a_header_libcurl_has_an_own_one_of_is_left_to_it(name: str) -> None:
    assert Request("http://target/", "POST", ((name, "x"),), b"").wire is None
