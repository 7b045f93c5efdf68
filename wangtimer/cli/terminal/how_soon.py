"""How soon a change counts, as a person reads it."""

from wangtimer.cli.terminal.output import show_line
from wangtimer.client.values import read_span

# What Redis was told of counts at once: for every moment that is not on its way already.
AT_ONCE_MS = 1_000


def show_how_soon(counts_within: str | None) -> None:
    """Print how soon a change counts where that is not at once; None: that is not known."""
    if counts_within is not None and read_span(counts_within) > AT_ONCE_MS:
        show_line(f"it counts within {counts_within}; a moment before that may fire as it was")
