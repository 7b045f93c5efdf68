"""Files that a command is given."""

import codecs
from pathlib import Path

import click


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
    try:
        return raw.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadText(f"it is not text in UTF-8 (line {line}): save it as UTF-8") from None
