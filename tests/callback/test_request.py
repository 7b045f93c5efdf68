import pytest

from wangtimer.callback import Request


def request(*headers: tuple[str, str], method: str = "POST") -> Request:
    return Request("http://target/", method, headers, b"")


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b"])
def test_a_header_value_cannot_break_out_of_its_line(value: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        request(("x-note", value))


@pytest.mark.parametrize("name", ["", "x note", "x:note", "x\r\nnote", "é"])
def test_a_header_name_is_a_token(name: str) -> None:
    with pytest.raises(ValueError, match="header name"):
        request((name, "1"))


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_nobody_but_the_engine_says_where_a_body_ends(name: str) -> None:
    with pytest.raises(ValueError, match="leave it out"):
        request((name, "1"))


@pytest.mark.parametrize("method", ["HEAD", "CONNECT", "post", "GET / HTTP/1.1\r\n"])
def test_only_known_methods_are_taken(method: str) -> None:
    with pytest.raises(ValueError, match="method"):
        request(method=method)


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_stamp_is_read_back_as_one_header(separator: str) -> None:
    """These end a line to Python, and none to HTTP."""
    stamps = f"X-Said: a{separator}webhook-id: forged\r\nX-Next: b\r\n".encode()
    read = Request("http://a/", "POST", (), b"", stamps).headers
    assert read == (("X-Said", f"a{separator}webhook-id: forged"), ("X-Next", "b"))
