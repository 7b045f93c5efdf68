"""Requests go out byte for byte as libcurl 8.23 sent them, which this engine used before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.callback import Request
from wangtimer.callback.request import USER_AGENT

PIECE = st.sampled_from([*"abcXYZ019-_~!$&'()*+,;=:@?", "/", "//", "a.", "..b"]) | st.from_regex(
    "%[013-9A-F][0-9A-F]", fullmatch=True
)
PATH = st.lists(PIECE, max_size=20).map(lambda pieces: "/" + "".join(pieces))
TOKEN = st.text("abcXYZ019-_!#$%&'*+.^`|~", min_size=1, max_size=8)
VALUE = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs", "Cc"]), max_size=12)
KNOWN = st.sampled_from(
    ["Content-Type", "X-A", "Cookie", "Authorization", "Range", "Referer", "Accept-Encoding"]
)
OURS = f"User-Agent: {USER_AGENT}\r\nAccept: */*\r\n"


def sent(url: str, *headers: tuple[str, str], method: str = "GET", body: bytes = b"") -> str:
    request = Request(url, method, headers, body)
    assert not request.fault
    return request.wire.decode()


@given(
    path=PATH,
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
    headers=st.lists(st.tuples(TOKEN | KNOWN, VALUE | st.just("")), max_size=4).map(tuple),
    body=st.binary(max_size=40),
)
def test_a_plain_request_is_written_as_it_stands(path, method, headers, body) -> None:
    lines = "".join(
        f"{name}: {value}\r\n" if value.strip() else f"{name}:\r\n" for name, value in headers
    ).encode()
    length = b"" if method == "GET" and not body else b"Content-Length: %d\r\n" % len(body)
    ours = (
        OURS.replace("Accept: */*\r\n", "") if any(name.lower() == "accept" for name, _ in headers) else OURS
    )
    assert (
        Request(f"http://target:81{path}", method, headers, body).wire
        == f"{method} {path} HTTP/1.1\r\nHost: target:81\r\n{ours}".encode() + lines + length + b"\r\n" + body
    )


@pytest.mark.parametrize(
    ("url", "path", "host"),
    [
        ("http://target/", "/", "target"),
        ("http://target", "/", "target"),
        ("http://target:80/path", "/path", "target"),
        ("https://target:443/path", "/path", "target"),
        ("https://target:80/path", "/path", "target:80"),
        ("http://target:080/", "/", "target"),
        ("http://10.0.0.255:65535/a/b?c=d&e=%20f", "/a/b?c=d&e=%20f", "10.0.0.255:65535"),
        ("http://a-b.c_d.example:8080/x;y=1,2/(z)!*'", "/x;y=1,2/(z)!*'", "a-b.c_d.example:8080"),
        ("HTTP://target/", "/", "target"),
        ("http://target?q=1", "/?q=1", "target"),
        ("http://target?q=1/2", "/?q=1/2", "target"),
        ("http://127.1/", "/", "127.0.0.1"),
        ("http://0x7f000001/", "/", "127.0.0.1"),
        ("http://2130706433/", "/", "127.0.0.1"),
        ("http://0177.0.0.1/", "/", "127.0.0.1"),
        ("http://256.0.0.1/", "/", "256.0.0.1"),
        ("http://[::1]/", "/", "[::1]"),
        ("http://[::1]:8080/", "/", "[::1]:8080"),
        ("http://target./", "/", "target."),
        ("http://target/#part", "/", "target"),
        ("http://target#part", "/", "target"),
        ("http://target/../up", "/up", "target"),
        ("http://target/a/./b/../c?x=../y#z", "/a/c?x=../y", "target"),
        ("http://target/.", "/", "target"),
        ("http://target/a/%2E/b/..", "/a/", "target"),
        ("http://target/%2E%2e/up", "/up", "target"),
        ("http://target//x", "//x", "target"),
        ("http://target/%2f", "/%2f", "target"),
        ("http://target/50%", "/50%", "target"),
        ("http://target/%zz", "/%zz", "target"),
        ("http://target/a\\b", "/a\\b", "target"),
        ('http://target/"<>^`{|}', '/"<>^`{|}', "target"),
        ("http://target/定", "/%E5%AE%9A", "target"),
        ("http://u:p@target/x@y", "/x@y", "target"),
    ],
)
def test_a_url_is_tidied_up_before_it_is_called(url: str, path: str, host: str) -> None:
    assert sent(url).startswith(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Target/", "target"),  # libcurl left the case as it was
        ("http://定时.example/", "xn--mbty4v.example"),
    ],
)
def test_a_host_is_written_as_it_is_looked_up(url: str, host: str) -> None:
    assert f"\r\nHost: {host}\r\n" in sent(url)


@pytest.mark.parametrize(
    ("user", "value"), [("u%40x:p%3Aw", "dUB4OnA6dw=="), ("u", "dTo="), ("user:secret", "dXNlcjpzZWNyZXQ=")]
)
def test_a_user_in_the_url_becomes_a_header_unless_one_is_given(user: str, value: str) -> None:
    assert f"\r\nAuthorization: Basic {value}\r\n" in sent(f"http://{user}@target/")
    given = sent(f"http://{user}@target/", ("authorization", "mine"))
    assert "Basic" not in given
    assert "\r\nauthorization: mine\r\n" in given


@pytest.mark.parametrize(
    "url",
    [
        "http://target/a b",
        "http://target/a\r\nX-Evil: 1",
        "http://target/a\n",
        "http://target\n/",
        "http://target/?a\tb",
        "http://a b/",
        "http://target:65536/",
        "http://target:0/",
        "http://[::1/",
        "http://[::1%25eth0]/",
        "http://a..b/",
        "http://.a/",
        "http://loc%61lhost/",
        "http:/target/",
        "target/",
        "ftp://target/",
        "",
    ],
)
def test_a_url_that_cannot_be_called_says_so(url: str) -> None:
    request = Request(url, "POST", (), b"")
    assert request.fault
    assert b"\n" not in request.fault.encode()


@pytest.mark.parametrize("name", ["Host", "user-agent", "ACCEPT", "Expect", "Connection"])
def test_a_given_header_takes_the_place_of_ours(name: str) -> None:
    lines = sent("http://target/", (name, "mine")).split("\r\n")
    assert [line for line in lines if line.lower().startswith(f"{name.lower()}:")] == [f"{name}: mine"]
