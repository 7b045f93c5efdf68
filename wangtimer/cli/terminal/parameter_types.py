"""What is written on the command line: durations, moments, firings, files."""

import codecs
import re
import time
from pathlib import Path
from typing import Any

import click

from wangtimer.client.values import read_span, write_span

_FIRING = re.compile(r"\d{1,19}-\d{1,19}", re.ASCII)
# A span, as in 2h; any other text is a moment.
_AGO = re.compile(r"(?:[\d.]+[a-z]+)+", re.ASCII)
_NUMBER = re.compile(r"\d{1,19}", re.ASCII)


class SpanText(click.ParamType[str]):
    """A span of time, written as 500ms, 1.5s, 10m, 1h30m, 2d; rounded up to whole ms."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it in the units that v1 reads; raises a usage error for other text."""
        try:
            return write_span(read_span(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MomentText(click.ParamType[str | int]):
    """RFC 3339 text, or ms since 1970; the service reads it."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return ms as a number, other text unchanged."""
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            return int(value)
        return super().convert(value, param, ctx)


class PastMoment(MomentText):
    """The same, or a time ago such as 2h."""

    name = "moment|duration ago"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        """Return the moment; a time ago as ms, by this machine's clock."""
        if isinstance(value, str) and _AGO.fullmatch(value):
            return int(time.time() * 1_000) - read_span(SPAN.convert(value, param, ctx))
        return super().convert(value, param, ctx)


class FiringId(click.ParamType[str]):
    """A firing, by the webhook-id header of its callbacks: 7-1795207483000."""

    name = "firing"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return it; raises a usage error for other text."""
        if _FIRING.fullmatch(value):
            return str(value)
        return self.fail(
            f"{value!r} is not a firing; write its webhook-id, TIMER-MOMENT: 7-1795207483000", param, ctx
        )


SPAN, MOMENT, PAST, FIRING = SpanText(), MomentText(), PastMoment(), FiringId()
FILE, DIRECTORY = click.Path(dir_okay=False, path_type=Path), click.Path(file_okay=False, path_type=Path)


# How files begin that are no text, with what to do.
NO_TEXT = {
    b"\x1f\x8b": "it is compressed: unpack it with gunzip",
    b"BZh": "it is compressed: unpack it with bunzip2",
    b"\xfd7zXZ": "it is compressed: unpack it with unxz",
    b"\x28\xb5\x2f\xfd": "it is compressed: unpack it with unzstd",
    b"PK\x03\x04": "it is compressed: unpack it with unzip",
    b"PGDMP": "it is in pg_dump's own format: dump it as --format=plain",
    b"SQLite format 3": "it is a database of SQLite: write its URL, sqlite:///PATH",
}


class BadText(ValueError):
    """Bytes are not text in UTF-8; the message says what they are, and what to do."""


def text_of(file: str) -> str:
    """Return what is in a text file; raises `UsageError`."""
    try:
        return decoded(Path(file).read_bytes())
    except (OSError, BadText) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise click.UsageError(f"{file}: {reason}") from None


def decoded(raw: bytes, errors: str = "strict") -> str:
    """Return text in UTF-8, without the byte order mark that some editors write; raises `BadText`."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BadText("it is text in UTF-16: save it as UTF-8")
    if reason := next((mend for begin, mend in NO_TEXT.items() if raw.startswith(begin)), None):
        raise BadText(reason)
    try:
        return raw.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadText(f"it is not text in UTF-8 (line {line}): save it as UTF-8") from None
