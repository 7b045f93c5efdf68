"""What xTimer's callers may say of timers and records.

Null is the same as absent. Exception: in a change, null removes the value. Fields of a timer and of its rule are those
that core describes.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http.api_models import by_word
from wangtimer.api.http.field_types import (
    MOST_A_PAGE,
    PAGE,
    App,
    ChangedHeaders,
    ChangedMethod,
    Cursor,
    Given,
    Headers,
    Id,
    Limit,
    Method,
    Name,
    flag,
    number,
)
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import NAMED_BY_ID, bad_value, given_once, missing_field
from wangtimer.api.timer_terms.timer_field_types import (
    JITTER,
    OF_OVERLAPS,
    RETRY_WORDS,
    Body,
    ChangedBody,
    ChangedUrl,
    EndAt,
    ExcludeCalendar,
    MaxFirings,
    Model,
    NameText,
    NextBefore,
    StartAt,
    StatusWord,
    TagText,
    Timezone,
    Url,
    always_shown_type,
    given_type,
    shown_type,
    with_fields,
)
from wangtimer.api.timer_terms.timer_reading import AskedChange, AskedTimer
from wangtimer.core.api_field import Shown
from wangtimer.core.errors import UnknownTimer
from wangtimer.core.kinds.kinds import KINDS, asked_fields, shown_fields
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.timer import Notify, Timer
from wangtimer.store.sql.timer_lists import ListedStatus, Order, SortKey, TimerFilter
from wangtimer.store.sql.timers import TimerStore

_FIELDS = tuple(api_field for field in FIELDS for api_field in field.asked if not api_field.is_of_v1_only)


def taking_fields(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of a timer after its own; none is required."""
    return with_fields(model, {field.name: (given_type(field), None) for field in _FIELDS})


def showing_fields(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of a timer after its own."""
    shown = {
        field.name: (always_shown_type(field), ...)
        if field.shown is Shown.ALWAYS
        else (shown_type(field), None)
        for field in _FIELDS
    }
    return with_fields(model, shown)


def shown_values(timer: Timer) -> dict[str, Any]:
    """Return the fields of a timer as these paths show them, by name."""
    values = {name: value for field in FIELDS for name, value in field.shown(timer.value_of(field)).items()}
    return {
        field.name: values[field.name] or None if field.shown is Shown.ALWAYS_IN_V1 else values[field.name]
        for field in _FIELDS
    }


def taking_rules(model: type[Model]) -> type[Model]:
    """Return a request's model with the fields of every kind of rule after its own; none is required."""
    return with_fields(model, {field.name: (given_type(field), None) for field in asked_fields()})


def showing_rules(model: type[Model]) -> type[Model]:
    """Return an answer's model with the fields of every kind of rule after its own. An answer shows one kind's."""
    return with_fields(model, {field.name: (shown_type(field), None) for field in shown_fields()})


def naming_rules(model: type[Model]) -> type[Model]:
    """Return a model with field names put into its docstring: of requests for `{asked}`, of answers for `{shown}`."""
    shown = (" and ".join(_quoted(field.json_name for field in kind.shown_by)) for kind in KINDS)
    model.__doc__ = (model.__doc__ or "").format(
        asked=", ".join(_quoted(field.json_name for kind in KINDS for field in kind.asked_by)),
        shown=", or ".join(shown),
    )
    return model


def _quoted(names: Iterable[str]) -> list[str]:
    return [f"`{name}`" for name in names]


XTIMERS_PAGE = 10

PageIndex = Annotated[
    Annotated[int, Field(ge=1, le=100_000)] | None,
    BeforeValidator(number),
    Field(description="xTimer's way to page, from 1; the answer then has a total"),
]
PageSize = Annotated[
    Annotated[int, Field(ge=1, le=MOST_A_PAGE)] | None,
    BeforeValidator(number),
    Field(description=f"size of a numbered page; {XTIMERS_PAGE} by default"),
]


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """How many rows to skip, and how many to show after them."""

    skipped: int
    size: int


def numbered_page(index: int | None, size: int | None, given: Set[str]) -> NumberedPage | None:
    """Return the numbered page; None where neither number is given, so the list has cursors.

    Raises `Refused` where `given`, the parameters of the request, has both ways to page.
    """
    if index is None and size is None:
        return None
    for name in ("cursor", "limit"):
        if name in given:
            raise bad_value(name, "it is given beside a page number", "leave out one of the two")
    return page_at(index or 1, size)


def page_at(index: int, size: int | None) -> NumberedPage:
    """Return the page of this number, counted from 1."""
    shown = size or XTIMERS_PAGE
    return NumberedPage((index - 1) * shown, shown)


MOST_JITTER_MS = 3_600_000

_ENABLING = "a new timer is disabled; enable it with POST /api/timer/v1/enable"
_ATTEMPTS = "POST /v1/timers has retry, which says how often a call is tried; leave it out here"
_TIMEOUT = (
    "the deployment's setting WANGTIMER_CALLBACK_TIMEOUT_MS says how long a call may take; leave it out"
)
# Words of other schedulers, and where WangTimer has what they mean.
_OF_THE_DEPLOYMENT = by_word({_ATTEMPTS: RETRY_WORDS, _TIMEOUT: "timeout timeoutMs timeoutSeconds timeoutS"})
_OF_A_TIMER: Mapping[str, str] = {
    **by_word({_ENABLING: "enable enabled isEnabled active isActive"}),
    **OF_OVERLAPS,
    **_OF_THE_DEPLOYMENT,
}


def check_new_status(status: int | None) -> int | None:
    """Return the status that a request gives a new timer; raises `Refused` for enabled."""
    if status in (None, 0, 1):
        return status
    raise bad_value(
        "status",
        f"{str(status)[:30]}, but a new timer is disabled",
        "leave it out, and enable it with POST /api/timer/v1/enable",
    )


class NotifyParam(Given):
    """The HTTP call to make at each moment."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: Url
    method: Method = "POST"
    header: Annotated[Headers, Field(default_factory=tuple)]
    body: Body = None

    @property
    def call(self) -> Notify:
        """The call."""
        return Notify(self.url, self.method, self.header, self.body or "")


class NotifyChange(Given):
    """Changes of the HTTP call (RFC 7396): a field that is absent stays, null gives it its default."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_THE_DEPLOYMENT

    url: ChangedUrl = None
    method: ChangedMethod = None
    header: ChangedHeaders = None
    body: ChangedBody = None

    @property
    def given(self) -> dict[str, Any]:
        """What is given of the call, by the names in core."""
        names = {"header": "headers"}
        return {names.get(name, name): getattr(self, name) for name in self.model_fields_set}


@taking_rules
class RuleFields(Given):
    """The rule: one field that asks for a kind, and the details of that kind."""


class ScheduleFields(RuleFields):
    """When the timer fires: a rule, and its bounds if it recurs."""

    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter_ms: Annotated[int | None, Field(ge=0, le=MOST_JITTER_MS, description=JITTER)] = None
    exclude_calendar: ExcludeCalendar = None

    @property
    def given_schedule(self) -> dict[str, Any]:
        """What is given of the schedule, by the names in core."""
        names = self.model_fields_set & ScheduleFields.model_fields.keys()
        return {name: getattr(self, name) for name in names}


@taking_fields
class TermFields(ScheduleFields):
    """The schedule and the timer's other fields that can be changed."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = _OF_A_TIMER

    @property
    def given_fields(self) -> dict[str, Any]:
        """What is given of the other fields, by the names in core."""
        names = self.model_fields_set & TermFields.model_fields.keys() - ScheduleFields.model_fields.keys()
        return {name: getattr(self, name) for name in names}


class TimerTerms(TermFields):
    """A whole timer without its app."""

    name: Name
    creator: str | None = None
    """accepted from xTimer's clients, and ignored"""
    status: Annotated[
        int | None, Field(json_schema_extra={"minimum": 0, "maximum": 1}), AfterValidator(check_new_status)
    ] = None
    """xTimer's clients write 0 or 1: disabled, as every new timer is"""
    notify_type: Annotated[int | None, Field(alias="notify_type", ge=1, le=1)] = None
    """1 is HTTP, the only value, as xTimer's web page sends it"""
    notify: Annotated[NotifyParam, Field(alias="notifyHTTPParam")]

    @property
    def asked(self) -> AskedTimer:
        """The timer that is asked for."""
        return AskedTimer(self.name, self.given_schedule, self.notify.call, self.given_fields)


class ChangedTerms(TermFields):
    """Changes of a timer: a field that is absent stays; null removes a bound or the tags."""

    name: Name | None = None
    notify: Annotated[NotifyChange | None, Field(alias="notifyHTTPParam")] = None

    @property
    def asked(self) -> AskedChange:
        """The change that is asked for."""
        call = None if self.notify is None else self.notify.given
        return AskedChange(self.name, self.given_schedule, call, self.given_fields)


class OfAnApp(Given):
    """A request with an app. As the last of several bases it puts `app` first."""

    app: App


@naming_rules
class CreateTimer(TimerTerms, OfAnApp):
    """A new timer: exactly one of {asked} says when it fires."""


class EditTimer(ChangedTerms):
    """Changes of a timer: a field that is absent stays; null removes a bound or the tags."""

    app: App
    id: Id
    version: Annotated[int | None, Field(ge=1)] = None
    """refuse (409) where the timer is no longer at this version"""


class TimerKey(Given):
    """Which timer: by its id, or by its name."""

    app: App
    id: Id | None = None
    name: Name | None = None

    def id_in(self, timers: TimerStore) -> int:
        """Return the timer's id, given itself or by name. Raises `Refused` for both or neither, `UnknownTimer`."""
        if self.id is not None and self.name is not None:
            raise bad_value("name", "id and name are both given", "give one of them")
        if self.id is not None:
            return self.id
        if self.name is None:
            raise missing_field("id", "neither id nor name is given", "give one of them")
        timer_id = timers.id_of(self.app, self.name)
        if timer_id is None:
            raise UnknownTimer(self.app, repr(self.name))
        return timer_id


class TimerQuery(Given):
    """Which timer."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = NAMED_BY_ID

    app: App
    id: Annotated[Id, BeforeValidator(number)]


class RecordsQuery(Given):
    """Which page of a timer's firings; `id` or `timerID` says which timer."""

    meant_elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("status", "statuses"), "GET /v1/firings has it"),
        **NAMED_BY_ID,
    }

    app: App
    id: Annotated[Id | None, BeforeValidator(number)] = None
    timer_id: Annotated[Id | None, BeforeValidator(number), Field(alias="timerID")] = None
    """xTimer's name for id"""
    pending: Annotated[bool, BeforeValidator(flag)] = False
    """also show planned future firings"""
    limit: Limit = PAGE
    cursor: Cursor | None = None

    page_index: PageIndex = None
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage | None:
        """The numbered page, if the query asks for one."""
        return numbered_page(self.page_index, self.page_size, self.model_fields_set)

    @property
    def timer(self) -> int:
        """The timer's id, from either name; raises `Refused`."""
        return given_once(("id", self.id), ("timerID", self.timer_id))


class FilterFields(Given):
    """Which of an app's timers: those that meet all conditions."""

    name: Annotated[NameText | None, Field(description="this very name")] = None
    name_prefix: NameText | None = None
    name_contains: Annotated[NameText | None, Field(description="in either case")] = None
    status: StatusWord | None = None
    tag: TagText | None = None
    next_before: NextBefore = None


class TimersQuery(FilterFields, OfAnApp):
    """Which of an app's timers, in what order, and which page."""

    sort: (
        Literal["id", "-id", "name", "-name", "createdAt", "-createdAt", "updatedAt", "-updatedAt"] | None
    ) = None
    """with a minus the largest comes first; id by default, -id in numbered pages, as in xTimer"""
    limit: Limit = PAGE
    cursor: Cursor | None = None
    page_index: PageIndex = None
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage | None:
        """The numbered page, if the query asks for one."""
        return numbered_page(self.page_index, self.page_size, self.model_fields_set)

    @property
    def sorted_by(self) -> str:
        """`sort`, or its default."""
        return self.sort or ("id" if self.numbered is None else "-id")

    @property
    def order(self) -> Order:
        """What `sorted_by` says."""
        return Order(SortKey(self.sorted_by.removeprefix("-")), self.sorted_by.startswith("-"))

    @property
    def wanted(self) -> TimerFilter:
        """The filter; raises `Refused` for a moment that cannot be read."""
        return TimerFilter(
            self.app,
            self.name,
            self.name_prefix,
            self.name_contains,
            None if self.status is None else ListedStatus(self.status),
            self.tag,
            None if self.next_before is None else read_moment_field(self.next_before, "nextBefore"),
        )


class NameQuery(Given):
    """Timers whose name contains a text; `name` or `fuzzyName` gives the text."""

    app: App
    name: NameText | None = None
    fuzzy_name: Annotated[NameText | None, Field(description="xTimer's name for name")] = None
    page_index: PageIndex = 1
    page_size: PageSize = None

    @property
    def numbered(self) -> NumberedPage:
        """The requested page; the first by default."""
        return page_at(self.page_index or 1, self.page_size)

    @property
    def text(self) -> str:
        """The text that a timer's name must contain, from either parameter; raises `Refused`."""
        return given_once(("name", self.name), ("fuzzyName", self.fuzzy_name))
