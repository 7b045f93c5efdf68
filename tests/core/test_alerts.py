"""Which outcomes are noted, what a message says, and how a mail server is named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.alerts.alert_message import MOST_NAMED, Alert, AlertMessage
from wangtimer.core.alerts.alert_place import NOBODY, AlertedApps, AlertPlace, NotedAt
from wangtimer.core.alerts.alert_rule import (
    AlertEvent,
    AlertMarks,
    AlertNote,
    AlertRule,
    Destination,
    DestinationKind,
    Per,
    noted,
)
from wangtimer.core.alerts.judging import Happened, by_trouble, judge
from wangtimer.core.alerts.mail_server import MailServer, read_mail_server
from wangtimer.core.alerts.robots import refusal
from wangtimer.core.alerts.trouble import Trouble, TroubleKey
from wangtimer.core.cron.cron import Cron
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.messages.message_place import consumers_place
from wangtimer.core.timers.misfire import COALESCED, MISSED
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.testing.doubles import HandClock

NOW = 1_800_000_000_000
WITH_RULES = AlertedApps({"shop": None, "bank": 5_000}, {"shop": frozenset({"down:80"})})
S = FiringStatus


def outcome(status: FiringStatus, attempt: int = 1, **fields: object) -> Outcome:
    return Outcome(Member(7, NOW, attempt), 0, status, NOW, **fields)  # type: ignore[arg-type]


def alert(name: str = "bill", **fields: object) -> Alert:
    event = fields.pop("event", AlertEvent.FAILED_FOR_GOOD)
    return Alert(event, 7, name, NOW, NOW, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "app", "is_noted"),
    [
        (outcome(S.FAILED), "shop", True),
        (outcome(S.PENDING), "shop", True),
        (outcome(S.SUCCEEDED), "shop", False),
        (outcome(S.FAILED), "other", False),
        (outcome(S.FAILED), "", True),
        (outcome(S.SKIPPED, error=MISSED), "shop", True),
        (outcome(S.SKIPPED, error=COALESCED), "shop", True),
        (outcome(S.SKIPPED, error="disabled"), "shop", False),
        (outcome(S.SUCCEEDED, lateness_ms=9_000), "shop", False),
        (outcome(S.SUCCEEDED, lateness_ms=5_001), "bank", True),
        (outcome(S.ACCEPTED, lateness_ms=5_001), "bank", True),
        (outcome(S.SUCCEEDED, lateness_ms=5_000), "bank", False),
        (outcome(S.SUCCEEDED, 2, lateness_ms=90_000), "bank", False),
    ],
)
def test_an_outcome_is_noted_where_some_rule_of_its_app_may_tell_of_it(
    one: Outcome, app: str, is_noted: bool
) -> None:
    assert bool(noted(one, AlertPlace(app), WITH_RULES).notes) is is_noted
    assert not noted(one, AlertPlace(app), NOBODY).notes


def test_a_host_and_a_named_target_are_two_places_whatever_they_are_named() -> None:
    assert AlertPlace("shop", "target:443").text != AlertPlace("shop", "pay.example:443", "443").text


def test_an_answer_of_a_host_in_trouble_is_noted_once_a_second() -> None:
    answered, down, up = outcome(S.SUCCEEDED), AlertPlace("shop", "down:80"), AlertPlace("shop", "up:80")
    assert NotedAt.of(noted(answered, down, WITH_RULES)) == NotedAt("shop", "down:80", "")
    assert not noted(outcome(S.ACCEPTED), down, WITH_RULES).notes
    assert not noted(answered, down, WITH_RULES, lambda _app, _place: False).notes
    assert not noted(answered, up, WITH_RULES).notes
    assert not noted(answered, down._replace(app="bank"), WITH_RULES).notes
    clock = HandClock()
    marks = AlertMarks(lambda: WITH_RULES, clock)
    assert [bool(marks.noted(answered, down).notes) for _ in range(3)] == [True, False, False]
    clock.sleep(1)
    assert marks.noted(answered, down).notes


def test_a_failure_says_whether_its_place_was_well_since_the_last_one() -> None:
    clock, place = HandClock(NOW), AlertPlace("shop", "up:80")
    marks = AlertMarks(lambda: WITH_RULES, clock)

    def noted_at(status: FiringStatus) -> NotedAt | None:
        clock.sleep(1)
        return NotedAt.of(marks.noted(outcome(status), place))

    assert noted_at(S.FAILED) == NotedAt("shop", "up:80", "", NOW + 1_000)
    assert noted_at(S.SUCCEEDED) is None
    assert noted_at(S.ACCEPTED) is None
    assert noted_at(S.PENDING) == NotedAt("shop", "up:80", "", NOW + 4_000, NOW + 2_000)
    assert noted_at(S.FAILED) == NotedAt("shop", "up:80", "", NOW + 5_000)


def test_the_first_success_after_a_failure_is_noted_though_one_was_just_now() -> None:
    clock, down = HandClock(NOW), AlertPlace("shop", "down:80")
    marks = AlertMarks(lambda: WITH_RULES, clock)
    assert marks.noted(outcome(S.SUCCEEDED), down).notes
    clock.sleep(0.2)
    marks.noted(outcome(S.FAILED), down)
    assert [bool(marks.noted(outcome(S.SUCCEEDED), down).notes) for _ in range(2)] == [True, False]


def test_the_mark_waits_with_its_outcome_and_nothing_else_is_lost() -> None:
    marked = noted(outcome(S.FAILED, host_failing_ms=0), AlertPlace("shop", "h:80", "t"), WITH_RULES)
    assert Outcome.from_wire(marked.to_wire()) == marked
    assert "notes" not in outcome(S.FAILED).to_wire()


def test_a_message_is_stored_whole_and_names_no_more_than_has_room() -> None:
    over = alert(about=AlertEvent.LATE, lateness_ms=5, http_status=503, error="no", times=4)
    message = AlertMessage("shop", "ops").with_more([over] * (MOST_NAMED - 1))
    message = message.with_more([alert(), alert(), alert()])
    assert (len(message.alerts), message.more) == (MOST_NAMED, 2)
    assert AlertMessage.from_stored("shop", "ops", message.stored()) == message


def test_a_text_is_one_line_for_each_alert_and_as_long_as_is_allowed() -> None:
    message = AlertMessage("shop", "ops").with_more([alert("bill\nand more", error="a\r\nb")] * 15)
    lines = message.text(100_000).splitlines()
    assert len(lines) == 16
    assert lines[0] == "WangTimer: ops of shop"
    assert lines[1].startswith("bill and more: a firing failed for good, due ")
    assert lines[1].endswith(": a b")
    short = message.text(400)
    assert len(short.encode()) <= 400
    assert short.splitlines()[-1].endswith("more lines")


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (alert(timers=1), "1 firing of 1 timer failed for good since "),
        (alert(timers=2, times=3), "3 firings of 2 timers failed for good since "),
        (alert(event=AlertEvent.MISSED, timers=1), "1 firing of 1 timer was missed since "),
        (
            alert(event=AlertEvent.RECOVERED, about=AlertEvent.FAILED_FOR_GOOD, timers=1),
            "back to normal (failed_for_good), after 1 time with 1 timer since ",
        ),
        (
            alert(event=AlertEvent.SKIPPED, error=COALESCED),
            "bill: a firing was skipped or cancelled, due 2027-01-15T08:00:00.000Z, firing 7-1800000000000: "
            "as a later one was due",
        ),
        (
            alert(event=AlertEvent.SKIPPED, error="overlap: the firing of noon is not done", timers=1),
            "1 firing of 1 timer was skipped or cancelled since 2027-01-15T08:00:00.000Z, the last: : "
            "overlap: the firing of noon is not done",
        ),
    ],
)
def test_a_line_counts_in_plain_words_and_says_why(one: Alert, words: str) -> None:
    assert one.line.startswith(words)


@pytest.mark.parametrize(
    ("kind", "answer", "is_taken"),
    [
        (DestinationKind.WECOM, '{"errcode":0,"errmsg":"ok"}', True),
        (DestinationKind.WECOM, '{"errcode":45009,"errmsg":"api freq out of limit"}', False),
        (DestinationKind.FEISHU, '{"StatusCode":0,"StatusMessage":"success"}', True),
        (DestinationKind.FEISHU, '{"code":9499,"msg":"too many request"}', False),
        (DestinationKind.DINGTALK, "<html>", False),
        (DestinationKind.DINGTALK, "[]", False),
        (DestinationKind.DINGTALK, "{}", False),
        (DestinationKind.SLACK, "ok", True),
        (DestinationKind.WEBHOOK, "", True),
    ],
)
def test_what_a_robot_answers_says_whether_it_took_it(
    kind: DestinationKind, answer: str, is_taken: bool
) -> None:
    assert (refusal(kind, answer) == "") is is_taken


def test_a_mail_server_is_read_with_its_port_and_how_it_is_spoken_to() -> None:
    sender = "a@b.example"
    assert read_mail_server("smtp://mail.example", sender) == MailServer("mail.example", 25, sender)
    whole = read_mail_server("smtp+starttls://u%40x:p%2Fw@mail.example:2525", sender)
    assert whole == MailServer("mail.example", 2525, sender, False, True, "u@x", "p/w")
    assert read_mail_server("smtps://mail.example", sender).is_tls
    assert "p/w" not in repr(whole)


@pytest.mark.parametrize(
    ("url", "sender"),
    [
        ("http://mail.example", "a@b.example"),
        ("smtp://", "a@b.example"),
        ("smtp://mail.example/path", "a@b.example"),
        ("smtp://u:hush@mail.example", "a@b.example"),
        ("smtps://hush@mail.example", "a@b.example"),
        ("smtps://:hush@mail.example", "a@b.example"),
        ("smtp://mail.example", ""),
        ("smtp://mail.example", "A <a@b.example>"),
    ],
)
def test_a_mail_server_that_cannot_work_is_refused_without_its_password(url: str, sender: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        read_mail_server(url, sender)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Shop.example/a", "shop.example:443"),
        ("queue://orders/list?name=work", "broker:orders"),
        (consumers_place("reports").url, "broker:consumers"),
        ("ftp://shop.example", ""),
    ],
)
def test_an_alert_names_the_host_or_the_broker(url: str, host: str) -> None:
    call = Notify("", "", target="events")
    definition = Definition(7, "shop", 1, TimerStatus.ENABLED, Cron.parse("* * * * *"), call)
    target = NamedTarget("shop", "events", 1, Notify(url))
    assert CallOrder(definition, target).where.place == AlertPlace("shop", host, "events")


ALL_BUT_RECOVERED = frozenset(AlertEvent) - {AlertEvent.RECOVERED, AlertEvent.TEST}
OF_TIMERS = AlertRule(
    "shop", "ops", ALL_BUT_RECOVERED, Destination(DestinationKind.WEBHOOK), 3, 1_000, per=Per.TIMER
)
happened_at_a_timer = st.builds(
    lambda second, status, attempt, lateness_ms, error, host, known_at: Happened(
        AlertNote(
            Member(7, NOW + second * 1_000, attempt),
            status,
            lateness_ms,
            None,
            error,
            AlertPlace("shop", host, ""),
            known_at,
        ),
        "shop",
        "bill",
    ),
    st.integers(0, 9),
    st.sampled_from([S.PENDING, S.FAILED, S.SKIPPED, S.SUCCEEDED]),
    st.integers(1, 3),
    st.sampled_from([None, 0, 5_000]),
    st.sampled_from(["", MISSED, COALESCED]),
    st.sampled_from(["", "a:80", "b:80"]),
    st.one_of(st.none(), st.integers(NOW, NOW + 20_000)),
)


@given(st.lists(happened_at_a_timer, min_size=1, max_size=12), st.integers(0, 12))
def test_notes_of_a_timer_leave_the_same_trouble_judged_at_once_or_one_by_one(
    notes: list[Happened], failures: int
) -> None:
    now = NOW + 30_000

    def judged(some: list[Happened], held: dict[TroubleKey, Trouble]) -> dict[TroubleKey, Trouble]:
        of_troubles = by_trouble(some, {"shop": [OF_TIMERS]}, now)
        return held | judge(of_troubles, held, lambda _timer_id: failures, now).troubles

    def untold(troubles: dict[TroubleKey, Trouble]) -> dict[TroubleKey, Trouble]:
        """When it is told, and of how many, is another matter; a row is counted anew when it is told."""
        return {
            key: replace(one, told_at=None, told_times=0, told_timers=0)
            for key, one in troubles.items()
            if key.event is not AlertEvent.FAILURES_IN_A_ROW
        }

    one_by_one: dict[TroubleKey, Trouble] = {}
    for note in sorted(notes, key=lambda one: now if one.note.known_at is None else one.note.known_at):
        one_by_one = judged([note], one_by_one)
    assert untold(judged(notes, {})) == untold(one_by_one)
