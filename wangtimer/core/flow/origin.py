"""Reads a URL: host and port, TLS or not, and the path as it goes over the wire."""

import re
import socket
from base64 import b64encode
from functools import lru_cache
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit
from zlib import crc32

from wangtimer.core.flow.host_names import one_name
from wangtimer.core.messages.message_place import broker_host, is_message_url, place_from

_DEFAULT_PORTS = {"http": 80, "https": 443}
# From here on no "/" belongs to "http://" or "https://".
_AFTER_SCHEME = len("https://")
# A path that goes over the wire unchanged; any other is checked piece by piece.
_PLAIN_PATH = re.compile(r"(?:/(?!\.)|[!$&'()*+,\-.0-9:;=?@A-Z_a-z~]++|%(?!2E)[0-9A-F]{2})*+")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?", re.ASCII)
# What may be shown in the names of lanes and in lists; of any other part its checksum is: it may be a secret.
_PLAIN_PART = re.compile(r"[A-Za-z0-9._-]{1,24}", re.ASCII)
_PLAIN_BEGINNING = re.compile(r"/[A-Za-z0-9._-]{1,24}(?![^/?#])", re.ASCII)
_CONTROL_OR_SPACE = re.compile(r"[\x00-\x20\x7f]")
_LIKE_AN_ADDRESS = re.compile(r"[0-9.]+|0x[0-9a-f.x]+", re.ASCII)  # what inet_aton may know


class Origin(NamedTuple):
    """The part of a URL before its path.

    `host`           a name or an address, ASCII, in lower case; an IPv6 address without brackets
    `is_address`     whether it needs no look-up
    `key`            scheme, host and port: a connection's other end
    `host_port`      host and port; the URL itself if they cannot be read
    `authorization`  the header's value for the user and password; "" without any
    `fault`          why nothing can be sent there; "" if something can
    """

    host: str
    is_address: bool
    port: int
    is_tls: bool
    key: str
    host_port: str
    host_header: str
    authorization: str
    fault: str


def read_url(url: str) -> tuple[Origin, str]:
    """Return a URL's origin and its path with the query, as a request line has it.

    The fragment is dropped, dot segments are resolved, and characters beyond ASCII are percent-encoded; the rest
    stays as it is written. If the URL cannot be called, `Origin.fault` has the reason.
    """
    path_begins = url.find("/", _AFTER_SCHEME)
    text, path = (url, "/") if path_begins < 0 else (url[:path_begins], url[path_begins:])
    if "?" in text or "#" in text:
        text, path = _parted(url)
    origin = _origin(text)
    if _PLAIN_PATH.fullmatch(path) or origin.fault:
        return origin, path
    if _CONTROL_OR_SPACE.search(path):
        return origin._replace(fault="its URL has a space or a control character"), path
    return origin, _tidied(path)


def part_of_path(path: str) -> str:
    """Return the part of a host that a path leads to: its first segment; `/` where that is empty, or is filled in."""
    plain = _PLAIN_BEGINNING.match(path)
    if plain is not None:
        return plain[0]
    begins, _, _ = path[1:].partition("/")
    segment = begins.partition("?")[0].partition("#")[0]
    return _part("/", segment) if segment and "{" not in segment and "%7B" not in segment.upper() else "/"


def part_of_target(name: str) -> str:
    """Return the part of a host that a named target is."""
    return _part("#", name)


@lru_cache(maxsize=4096)
def _part(mark: str, name: str) -> str:
    return f"{mark}{name}" if _PLAIN_PART.fullmatch(name) else f"{mark}~{crc32(name.encode()):08x}"


def _parted(url: str) -> tuple[str, str]:
    begins = min(at for at in (url.find("?"), url.find("#")) if at >= 0)
    return url[:begins], "/" + url[begins:]


def _tidied(path: str) -> str:
    before_fragment = path.partition("#")[0]
    segments, mark, query = before_fragment.partition("?")
    # Every ASCII character stays as it is.
    return quote(
        _without_dots(segments) + mark + query, safe="".join(map(chr, range(0x21, 0x7F))), errors="replace"
    )


def _without_dots(path: str) -> str:
    """Resolve "." and ".." (RFC 3986, 5.2.4), percent-encoded ones too."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for place, segment in enumerate(segments):
        dots = re.sub("%2e", ".", segment, flags=re.IGNORECASE)
        if dots not in (".", ".."):
            kept.append(segment)
            continue
        if dots == ".." and kept:
            kept.pop()
        if place == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


@lru_cache(maxsize=4096)  # 10 µs to work out, and most calls go to few hosts
def _origin(text: str) -> Origin:
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        return _not_to_be_called(text, "its host or port cannot be read")
    scheme = parts.scheme
    if is_message_url(text):
        return _broker_of(text, parts.netloc)
    if scheme not in _DEFAULT_PORTS:
        return _not_to_be_called(
            text, f"the protocol {scheme[:20]!r} is disabled: only http and https are spoken"
        )
    if port is None:
        port = _DEFAULT_PORTS[scheme]
    # `hostname` and urlsplit drop what they cannot read; a URL with such parts is refused.
    bare = _bare_host(host, is_bracketed="[" in parts.netloc)
    if not bare or port == 0 or _CONTROL_OR_SPACE.search(text):
        return _not_to_be_called(text, "its host or port cannot be read")
    shown = f"[{bare}]" if ":" in bare else bare
    return Origin(
        bare,
        ":" in bare or _address_v4(bare) is not None,
        port,
        scheme == "https",
        f"{scheme}://{shown}:{port}",
        f"{one_name(bare)}:{port}",
        shown if port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}",
        _basic(parts.username, parts.password),
        "",
    )


def origins_of(url: str) -> frozenset[str]:
    """Return the key of each origin to which what a target sends may go: that of a fallback too."""
    fallback = place_from(url).fallback if is_message_url(url) else ""
    return frozenset(read_url(address)[0].key for address in (url, fallback) if address)


def _broker_of(text: str, name: str) -> Origin:
    """Return the place of a named broker; only a process that has the broker set up sends there."""
    fault = f"no broker {name!r} is set up for callback processes"
    return Origin(name, True, 0, False, text, broker_host(name), "", "", fault)


def _not_to_be_called(text: str, fault: str) -> Origin:
    return Origin("", False, 0, False, text, text, "", "", fault)


def _bare_host(host: str, *, is_bracketed: bool) -> str:
    """Return a host as it is looked up or connected to; "" if it is none."""
    if is_bracketed:
        try:
            return str(IPv6Address(host)) if "%" not in host else ""
        except ValueError:
            return ""
    try:
        host = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        return ""
    return (_address_v4(host) or host) if _HOST.fullmatch(host) and ".." not in host else ""


def _address_v4(host: str) -> str | None:
    """Read an address in any notation that `inet_aton` knows: 127.1, 0x7f000001, 0177.0.0.1."""
    if not _LIKE_AN_ADDRESS.fullmatch(host):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


def _basic(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = unquote_to_bytes(user) + b":" + unquote_to_bytes(password or "")
    return f"Basic {b64encode(pair).decode()}"
