"""The moments of an interval, and of a one-shot."""

from wangtimer.cli.importing.entries import TheirMoments


def every_so_often(interval_ms: int, first_ms: int, most: int | None = None) -> TheirMoments:
    """Return the moments of an interval from its first on (ms UTC), `most` of them at most."""

    def moments(after_ms: int, count: int) -> list[int]:
        number = max(0, (after_ms - first_ms) // interval_ms + 1)
        end = number + count if most is None else min(number + count, most)
        return [first_ms + one * interval_ms for one in range(number, end)]

    return moments


def only_once(moment_ms: int) -> TheirMoments:
    """Return the one moment (ms UTC), until it is past."""
    return lambda after_ms, count: [moment_ms][:count] if moment_ms > after_ms else []
