"""The operations on the named targets of an app."""

from collections.abc import Iterator
from typing import Unpack

from .calls import Calls, all_rows, place_of
from .timer_fields import NamedTargetPatch, NewNamedTarget
from .timer_types import ChangedTarget, NamedTarget, TargetsPage
from .transport import Call
from .values import written

TARGETS = "/v1/targets"


class TargetCalls(Calls):
    """Make, change, read and delete targets that timers name. Each method raises `ClientError`.

    `version` is the one that a change is meant for: `PreconditionFailed` where the target has changed since.
    """

    def put_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NewNamedTarget]
    ) -> ChangedTarget:
        """Make a target, or replace the one of this name; `***` leaves a secret as it is."""
        call = Call("PUT", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def patch_target(
        self, name: str, *, version: int | None = None, **fields: Unpack[NamedTargetPatch]
    ) -> ChangedTarget:
        """Change a target; what is not given stays. It counts for all timers that name it."""
        call = Call("PATCH", place_of(TARGETS, name), body=written(fields), header=_condition(version))
        return self._ask(call).typed(ChangedTarget, "name", "countsWithin")

    def get_target(self, name: str) -> NamedTarget:
        """Return a target, and how many timers name it."""
        return self._get(place_of(TARGETS, name)).typed(NamedTarget, "name")

    def targets(self, *, most: int | None = None) -> Iterator[NamedTarget]:
        """Yield the app's targets by name, all or at most `most`, page by page."""
        return all_rows(lambda limit, cursor: self.list_targets(limit=limit, cursor=cursor), most)

    def list_targets(self, *, limit: int | None = None, cursor: str | None = None) -> TargetsPage:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `targets` reads all pages."""
        query = {"limit": limit, "cursor": cursor}
        return self._get(TARGETS, query).typed(TargetsPage, "items", "nextCursor")

    def delete_target(self, name: str, *, version: int | None = None) -> None:
        """Delete a target that no timer names."""
        self._delete(self._ask, place_of(TARGETS, name), _condition(version))


def _condition(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}
