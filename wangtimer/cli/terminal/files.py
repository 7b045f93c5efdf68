"""Files that a command is given."""

from pathlib import Path

import click


def text_of(file: str) -> str:
    """Return what is in a text file; raises `UsageError`."""
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise click.UsageError(f"{file}: {reason}") from None
