"""Named targets over v1: list, read, make, change, delete."""

from collections.abc import Callable
from functools import partial

from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.parameters import ETAG, AppHeader, ChangeHeader, etag
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.shown import PageQuery
from wangtimer.api.v1.targets.target_answers import (
    ListedTargets,
    ShownNamedTarget,
    ShownTargetChange,
    shown_change,
    shown_target,
)
from wangtimer.api.v1.targets.target_models import TargetBody, TargetPatch, TargetPath
from wangtimer.core.errors import UnknownTarget, VersionChanged
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.target_changes import TargetChange

ONE = "/targets/<string:name>"


class TargetResource(Resource):
    """The operations on named targets."""

    @Route("get", "/targets", "listTargets")
    def page(self, header: AppHeader, query: PageQuery) -> ListedTargets:
        """List targets, by name."""
        find = partial(self.wiring().target_store.page, header.app)
        return ListedTargets.by_name(query, f"{header.app} targets", find, shown_target)

    @Route("get", ONE, "getTarget", (404,), answers={200: ShownNamedTarget}, headers=(ETAG,))
    def get(self, path: TargetPath, header: AppHeader) -> Reply:
        """Read a target, and how many timers name it."""
        store = self.wiring().target_store
        target = store.get(header.app, path.name)
        return _tagged(shown_target(target, store.timers_of(header.app, path.name)))

    @Route(
        "put",
        ONE,
        "putTarget",
        (409,),
        answers={200: ShownTargetChange, 201: ShownTargetChange},
        headers=(ETAG,),
    )
    def put(self, path: TargetPath, header: ChangeHeader, body: TargetBody) -> Reply:
        """Make a target, or replace it.

        A new one answers 201. A change counts for all timers that name it, however many they are. `***` stands for the
        secret that is there; where scheme, host or port of the URL change, each secret must be given anew. An app has
        1,000 targets at most (409).
        """

        def change(was: NamedTarget | None) -> NamedTarget:
            if was is None and header.if_match is not None:
                reason = f"app {header.app!r} has no target {path.name!r}"
                raise VersionChanged("version", reason, "leave the condition on its version out")
            return body.target_of(header.app, path.name, was, self.wiring().seals)

        return self._changed(path, header, change)

    @Route("patch", ONE, "patchTarget", (404, 409), answers={200: ShownTargetChange}, headers=(ETAG,))
    def patch(self, path: TargetPath, header: ChangeHeader, body: TargetPatch) -> Reply:
        """Change a target.

        The body is a JSON merge patch (RFC 7396; `application/merge-patch+json` is taken too). What it changes counts
        for all timers that name the target.
        """

        def change(was: NamedTarget | None) -> NamedTarget:
            if was is None:
                raise UnknownTarget(header.app, path.name)
            return body.target_of(was, self.wiring().seals)

        return self._changed(path, header, change)

    @Route("delete", ONE, "deleteTarget", (404, 409))
    def delete(self, path: TargetPath, header: ChangeHeader) -> None:
        """Delete a target that no timer names; where timers name it, 409 says how many."""
        self.wiring().target_changes.remove(header.app, path.name, header.version)

    def _changed(
        self, path: TargetPath, header: ChangeHeader, change: Callable[[NamedTarget | None], NamedTarget]
    ) -> Reply:
        changed: TargetChange = self.wiring().target_changes.change(
            header.app, path.name, change, header.version
        )
        return _tagged(shown_change(changed), 201 if changed.is_made else 200)


def _tagged(shown: ShownNamedTarget, status: int = 200) -> Reply:
    return Reply(shown, status, {ETAG: etag(shown.version)})
