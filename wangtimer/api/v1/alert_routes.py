"""Rules of alerts over v1: list, set, delete, try."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.http.notify_rules import MOST_URL_CHARACTERS, check_url
from wangtimer.api.http.refusals import Refused, bad_value, missing_field, shown
from wangtimer.api.http.request_context import settings_in_use
from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.parameters import ActingHeader, AppHeader
from wangtimer.api.v1.resource import MADE_OR_CHANGED, Resource, Route, tell_soon
from wangtimer.api.v1.value_types import (
    GivenDuration,
    ListPage,
    PageQuery,
    SpanText,
    Text,
    duration,
    read_duration_field,
)
from wangtimer.api.v1.words_of_targets import OF_ALERT_RULES, OF_DESTINATION_KINDS, OF_DESTINATIONS, OF_EVENTS
from wangtimer.core.alerts.alert_rule import (
    MASK,
    MOST_ADDRESSES,
    RULE_NAME_CHARACTERS,
    SIGNED_ROBOTS,
    AlertEvent,
    AlertRule,
    Destination,
    DestinationKind,
    Per,
)
from wangtimer.core.alerts.mail_server import is_address
from wangtimer.core.errors import Subject
from wangtimer.core.flow.origin import read_url
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.timer import NAME_CHARACTERS

MOST_IN_A_ROW = 100
# ms; what is less late is not late.
LEAST_LATE_MS = 100
# ms; a rule that tells more often says nothing new.
LEAST_REPEAT_MS = 60_000
MOST_SECRET_CHARACTERS = 256

KindWord = Literal["webhook", "mail", "dingtalk", "wecom", "feishu", "slack"]
PerWord = Literal["timer", "host"]
EventWord = Literal["first_failure", "failed_for_good", "missed", "skipped", "recovered"]
# Those that have a figure in a field of their own.
_FIGURED = (AlertEvent.FAILURES_IN_A_ROW, AlertEvent.LATE)
_USUAL_PORTS = {"http": ":80", "https": ":443"}
# The fields that ask for these.
_FIELD_OF = {
    word: name
    for name, words in (
        ("lateBy", ("late", "lateBy")),
        ("failuresInARow", ("failures_in_a_row", "failuresInARow")),
    )
    for word in words
}


def _of_no_figure(given: Any) -> Any:
    """Refuse an event that has a field of its own."""
    name = _FIELD_OF.get(given) if isinstance(given, str) else None
    if name is None:
        return given
    raise bad_value("events", f"{shown(given)} is none of them", f"set the field {name}")


RuleName = Annotated[
    str,
    Field(
        min_length=1, max_length=RULE_NAME_CHARACTERS, description="name of the rule", examples=["on-call"]
    ),
    AfterValidator(plain),
]
_Kind = Annotated[
    KindWord,
    Field(
        description="webhook: a signed POST, as callbacks are; mail; or the robot of a chat",
        examples=["dingtalk"],
    ),
]


class AlertRulePath(Given):
    """Which rule."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.ALERT_RULE: "name"}

    name: RuleName


class GivenDestination(Given):
    """Where messages go: `url` for all but mail, `to` for mail."""

    words_here: ClassVar[Mapping[str, str]] = OF_DESTINATIONS
    value_words: ClassVar[Mapping[str, Mapping[str, str]]] = {"kind": OF_DESTINATION_KINDS}
    example: ClassVar[str] = '{"kind": "mail", "to": ["ops@shop.example"]}'

    kind: _Kind
    url: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MOST_URL_CHARACTERS,
            examples=["https://oapi.dingtalk.com/robot/send?access_token=0f1e2d"],
        ),
    ] = None
    """where to post; of a robot the whole URL with its key. As it is shown: it stays"""
    secret: Annotated[
        str | None, Field(min_length=1, max_length=MOST_SECRET_CHARACTERS, examples=["SEC0f1e2d"])
    ] = None
    """with which messages are signed for a robot of DingTalk or Feishu; *** : it stays"""
    to: Annotated[
        list[Annotated[str, Field(max_length=320)]] | None,
        Field(min_length=1, max_length=MOST_ADDRESSES, examples=[["ops@shop.example"]]),
    ] = None
    """mail addresses"""

    def of_rules(self, app: str, was: Destination | None) -> Destination:
        """Return where messages are to go; raises `Refused`. `was`: where they went before; None: it is new."""
        kind = DestinationKind(self.kind)
        self._refuse_unfit(kind)
        if kind is DestinationKind.MAIL:
            return Destination(kind, to=self._addresses())
        url = self._url(kind, app, was)
        return Destination(kind, url, self._secret(kind, url, was))

    def _refuse_unfit(self, kind: DestinationKind) -> None:
        is_mail = kind is DestinationKind.MAIL
        needed = "to" if is_mail else "url"
        if getattr(self, needed) is None:
            raise missing_field(f"destination.{needed}", "missing", f"{kind.value} needs it")
        unfit = {"to": not is_mail, "url": is_mail, "secret": kind not in SIGNED_ROBOTS}
        for name, is_unfit in unfit.items():
            if is_unfit and getattr(self, name) is not None:
                raise bad_value(f"destination.{name}", f"{kind.value} takes none", "leave it out")

    def _addresses(self) -> tuple[str, ...]:
        if not settings_in_use().smtp_sender:
            raise bad_value(
                "destination.kind",
                "this deployment sends no mail",
                "take another kind, or ask the operator to set WANGTIMER_SMTP_URL and WANGTIMER_SMTP_SENDER",
            )
        for number, address in enumerate(self.to or ()):
            if not is_address(address):
                raise bad_value(
                    f"destination.to.{number}",
                    f"{shown(address)} is no mail address",
                    "write it plainly, as in ops@shop.example",
                )
        return tuple(dict.fromkeys(self.to or ()))

    def _url(self, kind: DestinationKind, app: str, was: Destination | None) -> str:
        assert self.url is not None
        if was is not None and was.url and kind is was.kind and _is_mask_of(self.url, was.url):
            return was.url
        try:
            check_url(self.url)
            check_way_out(self.url, app)
        except Refused as refused:
            raise Refused(refused.code, "destination.url", refused.reason, refused.mend) from None
        if MASK in self.url:
            raise bad_value(
                "destination.url",
                "*** stands in it, and the rule has no such URL that could stay",
                "give the whole URL",
            )
        return self.url

    def _secret(self, kind: DestinationKind, url: str, was: Destination | None) -> str:
        if self.secret != MASK:
            return self.secret or ""
        if was is None or not was.secret or was.kind is not kind or _origin(url) != _origin(was.url):
            raise bad_value(
                "destination.secret",
                "*** stands for the secret that is there, and none is there for this host",
                "give the secret itself",
            )
        return was.secret


class AlertRuleBody(Given):
    """A whole rule: a field that is absent gets its default."""

    words_here: ClassVar[Mapping[str, str]] = OF_ALERT_RULES
    value_words: ClassVar[Mapping[str, Mapping[str, str]]] = {"events": OF_EVENTS}

    events: Annotated[
        list[Annotated[EventWord, BeforeValidator(_of_no_figure)]] | None,
        Field(max_length=len(AlertEvent), examples=[["first_failure", "recovered"]]),
    ] = None
    """what is told: the first failed attempt since a success; a firing that failed for good; one that the misfire
    policy left out as missed; one that was skipped as a later one was due, or skipped or cancelled by the overlap
    policy; and that it is back to normal"""
    in_a_row: Annotated[int | None, Field(alias="failuresInARow", ge=2, le=MOST_IN_A_ROW, examples=[5])] = (
        None
    )
    """tell of as many failed attempts of a timer in a row, without a success between"""
    late_by: Annotated[
        GivenDuration,
        duration("tell of firings that were first sent so much later than their moment", "30s"),
    ] = None
    key_prefix: Annotated[
        str | None, Field(min_length=1, max_length=NAME_CHARACTERS, examples=["billing-"])
    ] = None
    """tell of timers alone whose key begins so; absent: of all of the app"""
    per: Annotated[PerWord, Field(examples=["timer"])] = "host"
    """what is one trouble: host: of all timers that call one host, or go through one named target; timer: of each
    timer"""
    repeat_after: Annotated[
        GivenDuration,
        duration("tell again of what goes on for so long; absent: once, until it is back to normal", "1h"),
    ] = None
    destination: GivenDestination
    """where messages go"""

    def rule_of(self, app: str, name: str, was: AlertRule | None) -> AlertRule:
        """Return what the rule is to be; raises `Refused`."""
        events = {AlertEvent(event) for event in self.events or ()}
        late_ms = _span(self.late_by, "lateBy", LEAST_LATE_MS)
        figures = zip(_FIGURED, (self.in_a_row, late_ms), strict=True)
        events |= {event for event, figure in figures if figure is not None}
        if not events - {AlertEvent.RECOVERED}:
            raise missing_field(
                "events", "the rule tells of nothing", "name events, failuresInARow or lateBy"
            )
        return AlertRule(
            app,
            name,
            frozenset(events),
            self.destination.of_rules(app, None if was is None else was.destination),
            self.in_a_row,
            late_ms,
            self.key_prefix or "",
            _span(self.repeat_after, "repeatAfter", LEAST_REPEAT_MS),
            per=Per(self.per),
        )


class ShownDestination(Sent):
    """Where messages go; `***` stands in place of each secret."""

    kind: _Kind
    url: Annotated[str | None, Field(examples=["https://oapi.dingtalk.com/***"])]
    """without its path and query, which may be secret; null: mail, or its key is missing"""
    secret: Annotated[str | None, Field(examples=["***"])]
    """***; null: none"""
    to: Annotated[list[str], Field(examples=[["ops@shop.example"]])]
    """mail addresses; none but for mail"""


class ShownAlertRule(Sent):
    """A rule of alerts of an app."""

    name: RuleName
    events: Annotated[list[EventWord], Field(description="what is told", examples=[["first_failure"]])]
    failures_in_a_row: Annotated[
        int | None, Field(description="failed attempts in a row that are told; null: they are not")
    ]
    late_by: Annotated[SpanText | None, Field(description="lateness that is told; null: none is")]
    key_prefix: Annotated[str | None, Field(description="how keys of its timers begin; null: of all")]
    per: Annotated[
        PerWord, Field(description="what is one trouble: of a host or named target, or of a timer")
    ]
    repeat_after: Annotated[
        SpanText | None, Field(description="after which it is told again; null: once until it is over")
    ]
    destination: Annotated[ShownDestination, Field(description="where messages go")]
    last_told_at: Annotated[Text | None, Field(description="when a message was last taken; null: none was")]
    last_error: Annotated[
        str, Field(description="why the last message was not taken, or not for all addresses; empty: it was")
    ]
    created_at: Text
    updated_at: Text


class AlertRulePage(ListPage):
    """A page of an app's rules of alerts."""

    items: list[ShownAlertRule]


class AlertTestOutcome(Sent):
    """What became of a test message."""

    is_taken: Annotated[
        bool | None, Field(description="whether the destination took it; null: nobody knows yet")
    ]
    http_status: Annotated[int | None, Field(description="of its answer; null: there was none, or mail")]
    answer: Annotated[str, Field(description="how its answer begins", examples=['{"errcode":0}'])]
    error: Annotated[str, Field(description="why it was not taken; empty: it was")]


def shown_rule(rule: AlertRule) -> ShownAlertRule:
    """Return a rule as answers show it."""
    to = rule.destination
    return ShownAlertRule.of(
        rule,
        events=[event for event in sorted(rule.events) if event not in _FIGURED],
        failures_in_a_row=rule.in_a_row,
        late_by=rule.late_ms,
        key_prefix=rule.key_prefix or None,
        repeat_after=rule.repeat_ms,
        destination=ShownDestination.of(
            to, url=masked_url(to.url) if to.url else None, secret=MASK if to.secret else None
        ),
        last_told_at=rule.told_at,
        last_error=rule.error,
    )


def masked_url(url: str) -> str:
    """Return a URL up to its path, without the usual port: robots have their key in what follows."""
    origin = _origin(url)
    scheme = origin.partition("://")[0]
    return f"{origin.removesuffix(_USUAL_PORTS.get(scheme, ''))}/{MASK}"


def _is_mask_of(given: str, url: str) -> bool:
    """Tell whether a URL is as another one is shown, with the usual port or without it."""
    origin, path = read_url(given)
    return path == f"/{MASK}" and not origin.authorization and origin.key == _origin(url)


def _origin(url: str) -> str:
    return read_url(url)[0].key


def _span(given: str | None, field: str, least_ms: int) -> int | None:
    if given is None:
        return None
    span_ms = read_duration_field(given, field)
    if span_ms < least_ms:
        raise bad_value(field, f"it is {show_duration(span_ms)}", f"write {show_duration(least_ms)} or more")
    return span_ms


ONE = "/alert-rules/<string:name>"


class AlertRuleResource(Resource):
    """The operations on rules of alerts."""

    @Route("get", "/alert-rules", "listAlertRules")
    def page(self, header: AppHeader, query: PageQuery) -> AlertRulePage:
        """List the app's rules of alerts, by name."""
        find = partial(self.wiring().alert_rules.page, header.app)
        return AlertRulePage.by_name(query, f"{header.app} alert rules", find, shown_rule)

    @Route("put", ONE, "putAlertRule", (409,), statuses=MADE_OR_CHANGED)
    def put(self, path: AlertRulePath, header: AppHeader, body: AlertRuleBody) -> Reply[ShownAlertRule]:
        """Make a rule of alerts, or replace it.

        A new one answers 201. It counts for what happens 5 s later or more. Of a rule, an event, and a host or a timer
        (`per`) there is one alert until it is back to normal, or until `repeatAfter` is over. A timer is back to normal
        once a later firing has succeeded; a host once a call has after its last failure, and none failed for a minute.
        A host is told again when ten times as many firings or timers have failed as were told. With another destination
        what is open is told again there. What happens while a message is on its way is told in one further message: up
        to 20 alerts by name, the others counted. A message that is not taken is tried 6 times
        within some 3 h, as the same message. An app has 20 rules at most (409).
        """
        wiring = self.wiring()
        rule, is_made = wiring.alert_rules.put(
            header.app,
            path.name,
            lambda was: body.rule_of(header.app, path.name, was),
            self.now(),
        )
        tell_soon(wiring.alerted_replica)
        return Reply(shown_rule(rule), 201 if is_made else 200)

    @Route("delete", ONE, "deleteAlertRule", (404,))
    def delete(self, path: AlertRulePath, header: AppHeader) -> None:
        """Delete a rule of alerts, with what it was about to tell."""
        wiring = self.wiring()
        wiring.alert_rules.remove(header.app, path.name, self.now())
        tell_soon(wiring.alerted_replica)

    @Route("post", f"{ONE}:test", "testAlertRule", (404,))
    def test(self, path: AlertRulePath, header: ActingHeader) -> AlertTestOutcome:
        """Send a test message by a rule, and show what its destination answers.

        It is sent once, by a callback process, as every message is; that takes some seconds. Tests of a rule are 10 s
        apart, and an app has one under way: a further one is not sent, `isTaken` is null, and `error` says when to ask.
        """
        return AlertTestOutcome.of(self.wiring().alert_trial.run(header.app, path.name))
