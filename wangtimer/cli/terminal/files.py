"""Files that a command is given."""

import codecs
from pathlib import Path

import click

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
    if reason := next((one for begin, one in NO_TEXT.items() if raw.startswith(begin)), None):
        raise BadText(reason)
    try:
        return raw.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadText(f"it is not text in UTF-8 (line {line}): save it as UTF-8") from None
