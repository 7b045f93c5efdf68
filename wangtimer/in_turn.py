"""Pieces of work that one call does in turn: the failure of one stops no other."""

from collections.abc import Callable

import structlog

log = structlog.get_logger()


def do_in_turn(*pieces: Callable[[], object]) -> None:
    """Do each piece, whatever an earlier one raised; then raise the first error. The others are logged."""
    first: Exception | None = None
    for piece in pieces:
        try:
            piece()
        except Exception as error:
            if first is not None:
                log.warning("another_piece_failed", error=repr(error))
            first = first or error
    if first is not None:
        raise first
