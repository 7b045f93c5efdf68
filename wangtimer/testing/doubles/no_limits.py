"""Stands for the permits of an engine where a test is not about limits."""

from collections.abc import Callable, Sequence

from wangtimer.callback.permits import Permit, PermitAnswer


class NoLimits:
    """There is no limit."""

    def may_begin(self, _app: str, _host: str, _permits: Sequence[Permit], _longest_ms: int) -> bool:
        """Return True."""
        return True

    def is_open(self, _app: str, _host: str) -> bool:
        """Return True."""
        return True

    def ask(
        self,
        _app: str,
        _host: str,
        _has_waited: bool,
        _held: tuple[Permit, ...],
        _longest_ms: int,
        answer: Callable[[PermitAnswer], None],
    ) -> None:
        """Answer that nobody knows: nobody asks."""
        answer(None)

    def give_back(self, _permits: Sequence[Permit], *, is_unused: bool) -> None:
        """Do nothing: there is none."""
