"""The operations on rules of alerts: of which trouble an app is told, and where."""

from collections.abc import Iterator, Sequence
from typing import Literal, NotRequired, TypedDict, Unpack

from .answer import Page
from .calls import Calls, all_rows, place_of
from .transport import Call
from .values import Span, given

RULES = "/v1/alert-rules"

AlertKind = Literal["webhook", "mail", "dingtalk", "wecom", "feishu", "slack"]
AlertPer = Literal["timer", "host"]
AlertEvent = Literal["first_failure", "failed_for_good", "missed", "skipped", "recovered"]


class AlertDestination(TypedDict):
    """Where messages go: `url` for all but mail, `to` (addresses) for mail; `secret` signs for DingTalk and Feishu."""

    kind: AlertKind
    url: NotRequired[str | None]
    secret: NotRequired[str | None]
    to: NotRequired[Sequence[str] | None]


class NewAlertRule(TypedDict):
    """A rule: what is told, of which timers, where. What is not given is not told, or counts for all.

    `per` says what is one trouble: that of all timers of a host (where it is not given), or that of each timer.
    """

    destination: AlertDestination
    events: NotRequired[Sequence[AlertEvent] | None]
    failuresInARow: NotRequired[int | None]
    lateBy: NotRequired[Span | None]
    keyPrefix: NotRequired[str | None]
    per: NotRequired[AlertPer | None]
    repeatAfter: NotRequired[Span | None]


class ShownAlertDestination(TypedDict):
    """Where messages go; `***` stands in place of each secret."""

    kind: AlertKind
    url: str | None
    secret: str | None
    to: list[str]


class AlertRule(TypedDict):
    """A rule of alerts; `lastError` is why the last message was not taken, or not for all; "": it was."""

    name: str
    events: list[AlertEvent]
    failuresInARow: int | None
    lateBy: str | None
    keyPrefix: str | None
    per: AlertPer
    repeatAfter: str | None
    destination: ShownAlertDestination
    lastToldAt: str | None
    lastError: str
    createdAt: str
    updatedAt: str


class AlertTest(TypedDict):
    """What became of a test message; `isTaken` None: nobody knows yet."""

    isTaken: bool | None
    httpStatus: int | None
    answer: str
    error: str


class AlertCalls(Calls):
    """Set, list, try and delete rules of alerts. Each method raises `ClientError`."""

    def put_alert_rule(self, name: str, **fields: Unpack[NewAlertRule]) -> AlertRule:
        """Make a rule, or replace the one of this name; a URL as it is shown, and `***`, stay as they are."""
        call = Call("PUT", place_of(RULES, name), body=given(fields))
        return self._ask(call).typed(AlertRule, "name")

    def alert_rules(self, *, most: int | None = None) -> Iterator[AlertRule]:
        """Yield the app's rules by name, all or at most `most`, page by page."""
        return all_rows(self.list_alert_rules, most)

    def list_alert_rules(self, *, limit: int | None = None, cursor: str | None = None) -> Page[AlertRule]:
        """Return one page; `cursor` is the `nextCursor` of the previous one. `alert_rules` reads all pages."""
        return self._get(RULES, {"limit": limit, "cursor": cursor}).page(AlertRule)

    def delete_alert_rule(self, name: str) -> None:
        """Delete a rule, with what it was about to tell."""
        self._delete(self._ask, place_of(RULES, name), {})

    def test_alert_rule(self, name: str, *, idempotency_key: str | None = None) -> AlertTest:
        """Send a test message by a rule, and return what its destination answered; that takes some seconds.

        The request has an Idempotency-Key: the given one, or a new one.
        """
        answer = self._post_once(f"{place_of(RULES, name)}:test", {}, idempotency_key)
        return answer.typed(AlertTest, "error")
