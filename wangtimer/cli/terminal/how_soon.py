"""Prints how soon a change takes effect, for people."""

from wangtimer.cli.terminal.output import show_line
from wangtimer.client.values import read_span

# Once Redis has been told, a change takes effect for every moment that is not on its way.
AT_ONCE_MS = 1_000


def show_how_soon(counts_within: str | None) -> None:
    """Print how soon a change takes effect, unless it is at once; None: not known."""
    if counts_within is not None and read_span(counts_within) > AT_ONCE_MS:
        show_line(f"it takes effect within {counts_within}; an earlier moment may still fire as before")
