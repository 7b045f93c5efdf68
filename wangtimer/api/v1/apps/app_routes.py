"""Apps over v1: make, list, read, limit, disable. For operators."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import AppName, Given
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.api.http.request_context import unknown_app
from wangtimer.api.http.serving import Reply
from wangtimer.api.timer_terms.timer_field_types import with_fields
from wangtimer.api.v1.certificate_routes import MOST_PEM_CHARACTERS, ShownCertificate, shown_certificates
from wangtimer.api.v1.resource import MADE, Resource, Route, tell_soon
from wangtimer.api.v1.timers.retry_models import Retry, ShownRetry, shown_retry
from wangtimer.api.v1.value_types import ListPage, PageQuery, Text
from wangtimer.callback.client_certificate import only_certificates
from wangtimer.core.apps.described_limits import DESCRIBED, AppLimit, limits_in_force
from wangtimer.core.apps.registered_app import RegisteredApp
from wangtimer.core.egress.egress_rules import is_only_metadata, read_item
from wangtimer.core.errors import Subject
from wangtimer.core.flow.queues import QUEUE_CHARACTERS
from wangtimer.core.timers.fields import MOST_RETENTION_DAYS
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.apps import AS_BEFORE, AS_IT_WAS, DAYS_AS_BEFORE
from wangtimer.store.sql.timer_lists import TimerFilter
from wangtimer.wiring import Wiring

# Items that an operator allows to one app.
MOST_ALLOWED = 100


def _item(text: str) -> str:
    """Return an item of the rules of egress as it was written; raises `Refused`."""
    try:
        read_item(text)
        is_never_allowed = is_only_metadata(text)
    except ValueError as error:
        reason, _, mend = str(error).partition("; ")
        raise bad_value("egress.allow", reason, mend) from None
    if is_never_allowed:
        reason = f"{shown(text)} is an address of a cloud's metadata, which no call may reach"
        raise bad_value("egress.allow", reason, "leave it out")
    return text


def _authorities(pem: str | None) -> str | None:
    """Return certificates of authorities (PEM) without what stands between them; raises `Refused`."""
    if pem is None:
        return None
    try:
        return only_certificates(pem)
    except ValueError as error:
        raise bad_value("egress.caCertificates", str(error), "write the certificates only") from None


EgressItem = Annotated[
    str,
    Field(
        max_length=300,
        description="as in WANGTIMER_EGRESS: a network, an address, a name or *. and a name, with ports behind it or "
        "not; or public",
        examples=["10.1.0.0/16:443", "*.corp.example"],
    ),
    AfterValidator(_item),
]

Queue = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=QUEUE_CHARACTERS,
        description="its own queue, one of `WANGTIMER_CALLBACK_QUEUES`: only callback processes of this queue call for "
        "it; null: the common one",
        examples=["reports"],
    ),
]


def asked_limit(limit: AppLimit, without: str = "the default") -> Any:
    """Return the field of a request that sets a limit; `without`: what null means."""
    described = DESCRIBED[limit]
    return Field(
        alias=limit.value, ge=1, le=described.most, description=f"{described.words}; null: {without}"
    )


# Each limit by the name of its field here.
_LIMITS = {limit.name.lower(): limit for limit in AppLimit}


class AppPath(Given):
    """Which app."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName


class _Parts(Given):
    """Parts of an app. One that is not named stays as it is; null takes it out."""

    @property
    def given(self) -> dict[str, Any]:
        """What the request names, by its names."""
        fields = type(self).model_fields.items()
        return {
            str(field.alias): getattr(self, name) for name, field in fields if name in self.model_fields_set
        }


@partial(
    with_fields,
    fields={name: (Annotated[int | None, asked_limit(limit)], None) for name, limit in _LIMITS.items()},
)
class AppLimitsBody(_Parts):
    """Bounds of an app. One that is not named stays as it is; null takes it out."""


class AppEgressBody(_Parts):
    """What an app's calls may go to, beside what the deployment allows. What is not named stays; null takes it out."""

    https_only: bool | None = None
    """true: no call of the app goes out without TLS"""
    allow: Annotated[list[EgressItem] | None, Field(max_length=MOST_ALLOWED)] = None
    """what the app may call beside WANGTIMER_EGRESS, in place of what was allowed to it before; never a cloud's
    metadata, nor our own servers"""
    ca_certificates: Annotated[
        str | None, Field(max_length=MOST_PEM_CHARACTERS), AfterValidator(_authorities)
    ] = None
    """certificates (PEM) of authorities that vouch for targets of this app, beside those that vouch for all"""


class NewAppBody(Given):
    """An app to make."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "name"}

    name: AppName
    limits: Annotated[AppLimitsBody, Field(default_factory=AppLimitsBody)]
    queue: Queue = None


class AppPatch(Given):
    """What to change of an app."""

    disabled: bool | None = None
    """true: its keys are refused, and its timers are disabled; false: its keys count again, and its timers stay as they
    are"""
    limits: Annotated[AppLimitsBody, Field(default_factory=AppLimitsBody)]
    egress: Annotated[AppEgressBody, Field(default_factory=AppEgressBody)]
    queue: Queue = None
    retry: Retry | None = None
    """when its failed calls are tried again, where neither a timer nor its target says so; null: as the deployment
    does"""

    dead_letter_days: Annotated[int | None, Field(ge=1, le=MOST_RETENTION_DAYS)] = None
    """for so many days what failed for good is listed as dead letters; null: for as long as the records of firings
    (WANGTIMER_RETENTION_DAYS)"""

    @property
    def given_days(self) -> int | None:
        """How long dead letters are kept as the request says; `DAYS_AS_BEFORE` if it says nothing."""
        return self.dead_letter_days if "dead_letter_days" in self.model_fields_set else DAYS_AS_BEFORE

    @property
    def given_queue(self) -> str | None:
        """The queue that the request names; `AS_IT_WAS` if it names none."""
        return self.queue if "queue" in self.model_fields_set else AS_IT_WAS

    @property
    def given_retry(self) -> Mapping[str, Any] | None:
        """What the request says of retries, by a policy's attributes; `AS_BEFORE` if nothing. Raises `Refused`."""
        if "retry" not in self.model_fields_set:
            return AS_BEFORE
        return None if self.retry is None else self.retry.given() or AS_BEFORE


@partial(
    with_fields,
    fields={
        name: (Annotated[int | None, Field(description=DESCRIBED[limit].words)], ...)
        for name, limit in _LIMITS.items()
    },
)
class ShownLimits(Sent):
    """The bounds that an operator set for an app; null: the default."""


class ShownEgress(Sent):
    """What an operator set for the way out of an app's calls."""

    https_only: Annotated[bool, Field(description="true: no call of the app goes out without TLS")]
    allow: Annotated[list[str], Field(description="what it may call beside WANGTIMER_EGRESS")]
    ca_certificates: Annotated[
        list[ShownCertificate],
        Field(description="authorities that vouch for its targets, beside those that vouch for all"),
    ]


class ShownApp(Sent):
    """An app."""

    name: Annotated[str, Field(examples=["shop"])]
    created_at: Text
    updated_at: Text
    disabled_at: Text | None
    """null: it is not disabled"""
    limits: ShownLimits
    egress: ShownEgress
    queue: str | None
    """its own queue; null: the common one"""
    retry: ShownRetry | None
    """when its failed calls are tried again, where neither a timer nor its target says so; null: as the deployment
    does"""
    dead_letter_days: int | None
    """days for which its dead letters are kept; null: as long as records of firings"""


class ChangedApp(ShownApp):
    """An app that was changed."""

    enabled_timers: int | None
    """of a disabled app, how many timers are still enabled: repeat the request until none is; null: they were not
    counted"""


class AppPage(ListPage):
    """A page of apps."""

    items: list[ShownApp]


def app_fields(app: RegisteredApp) -> dict[str, Any]:
    """Return the fields of a `ShownApp` that the app itself has in another form."""
    own = limits_in_force(app, {})
    certificates = shown_certificates(app.egress.authorities)
    return {
        "limits": ShownLimits(**{name: own.of(limit) for name, limit in _LIMITS.items()}),
        "egress": ShownEgress.of(app.egress, ca_certificates=certificates),
        "retry": shown_retry(app.retry),
    }


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

    @Route("post", "/apps", "createApp", (409,), statuses=MADE)
    def create(self, body: NewAppBody) -> Reply[ShownApp]:
        """Make an app.

        Its keys can make timers then. A name is taken for good: an app is disabled, never deleted.
        """
        if "/" in body.name or body.name in (".", ".."):
            raise bad_value("name", f"{body.name!r} cannot stand in a path", "write a name without slashes")
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
    raise bad_value(
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
