"""Apps over v1: make, list, read, limit, disable. For operators."""

from itertools import count

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused
from wangtimer.api.http.request_context import unknown_app
from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.apps.app_models import (
    AppPage,
    AppPatch,
    AppPath,
    ChangedApp,
    NewAppBody,
    ShownApp,
    app_fields,
)
from wangtimer.api.v1.apps.telling import tell_soon
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.shown import PageQuery
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.errors import Subject
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.timer_lists import TimerFilter
from wangtimer.wiring import Wiring

TIMERS_AT_ONCE = 500
# s; what is left is left to the next request.
LONGEST_S = 5.0
# No name has a slash: so one with a slash is answered as the name of no app.
ONE = "/apps/<path:name>"


class AppResource(Resource):
    """The operations on apps."""

    @Route("get", "/apps", "listApps")
    def page(self, query: PageQuery) -> AppPage:
        """List apps, by name."""
        return AppPage.by_name(
            query, "apps", lambda after, most: self.wiring().apps.page(most, after), _shown
        )

    @Route("post", "/apps", "createApp", (409,), answers={201: ShownApp})
    def create(self, body: NewAppBody) -> Reply:
        """Make an app.

        Its keys can make timers then. A name is taken for good: an app is disabled, never deleted.
        """
        if "/" in body.name or body.name in (".", ".."):
            raise Refused(
                ErrorCode.BAD_VALUE,
                "name",
                f"{body.name!r} cannot stand in a path",
                "write a name without slashes",
            )
        limits = {name: value for name, value in body.limits.given.items() if value is not None}
        wiring = self.wiring()
        _refuse_unknown_queue(wiring, body.queue)
        app = wiring.apps.create(body.name, limits, self.now(), body.queue)
        _tell(wiring)
        return Reply(_shown(app), 201)

    @Route("get", ONE, "getApp")
    def get(self, path: AppPath) -> ShownApp:
        """Read an app."""
        return _shown(known_app(self.wiring(), path.name))

    @Route("patch", ONE, "patchApp")
    def change(self, path: AppPath, body: AppPatch) -> ChangedApp:
        """Change an app's limits, way out, queue or retries, disable it, or enable it again.

        Its keys and calls follow within 5 s. Disabling it disables its timers too, as many as one request may: repeat
        it until `enabledTimers` is 0. What was asked for before, a backfill too, is stopped. Enabling it does not
        enable its timers: `POST /v1/timers:batchEnable` does.
        """
        wiring = self.wiring()
        now = self.now()
        _refuse_unknown_queue(wiring, body.queue)
        app = wiring.apps.change(
            path.name,
            now,
            body.limits.given,
            body.disabled,
            body.egress.given,
            body.given_queue,
            body.given_retry,
            body.given_days,
        )
        if app is None:
            raise _unknown(wiring, path.name)
        _tell(wiring)
        if body.egress.given:
            tell_soon(wiring.ways_out_mark)
        left = None
        if app.disabled_at is not None:
            left = disable_timers(wiring, app.name)
            ends_at = wiring.clock.monotonic() + LONGEST_S
            wiring.app_stopper.stop_demands(app.name, app.disabled_at, ends_at)
        return ChangedApp.of(app, **app_fields(app), enabled_timers=left)


def _shown(app: RegisteredApp) -> ShownApp:
    return ShownApp.of(app, **app_fields(app))


def _tell(wiring: Wiring) -> None:
    """Let limits of calls and queues count within seconds; while Redis is away, the next sweep tells."""
    of_queues = (wiring.queues_replica,) if wiring.settings.own_queues.names else ()
    tell_soon(wiring.limits_replica, wiring.retries_replica, *of_queues)


def _refuse_unknown_queue(wiring: Wiring, queue: str | None) -> None:
    own = wiring.settings.own_queues
    if queue is None or queue in own.names:
        return
    meant = own.meant_by(queue)
    raise Refused(
        ErrorCode.BAD_VALUE,
        "queue",
        f"there is no queue {queue!r}",
        f"did you mean {meant!r}?" if meant else "write one of WANGTIMER_CALLBACK_QUEUES, or add it there",
    )


def known_app(wiring: Wiring, name: str, field: str = "name") -> RegisteredApp:
    """Return the app of this name; raises `Refused`, naming the field, where there is none."""
    found = wiring.apps.find(name)
    if found is None:
        raise _unknown(wiring, name, field)
    return found


def _unknown(wiring: Wiring, name: str, field: str = "name") -> Refused:
    refused = unknown_app(name, wiring.app_directory.meant_by(name), field)
    refused.about = Subject.APP
    return refused


def disable_timers(wiring: Wiring, app: str) -> int:
    """Disable the app's enabled timers, as many as one request may; return how many are still enabled."""
    wanted, after_id = TimerFilter(app, is_enabled=True), 0
    now, ends_at = int(wiring.clock.now_ms()), wiring.clock.monotonic() + LONGEST_S
    for turn in count():
        if turn and (is_over() or wiring.clock.monotonic() > ends_at):
            break
        found = wiring.timer_lists.chosen(wanted, TIMERS_AT_ONCE, now, after_id)
        if not found and not found.bad:
            break
        wiring.batches.disable(list(found.values()))
        if found.bad:
            wiring.batches.disable_unread(list(found.bad))
        after_id = max((*found, *found.bad))
    return wiring.timer_lists.count(wanted, now)
