"""Alerts of a host: the trouble of all timers that call it is one, however many they are."""

import pytest

from tests.store.alert_worlds import (
    FAILED,
    HOST,
    PENDING,
    SECOND,
    SUCCEEDED,
    AlertWorld,
    rule,
)
from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Per
from wangtimer.core.alerts.trouble import KNOWN_MS, MOST_LAST, QUIET_MS, Trouble, TroubleKey
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.trouble_rows import write_troubles

E = AlertEvent
FIRST, ROW, FOR_GOOD, RECOVERED = E.FIRST_FAILURE, E.FAILURES_IN_A_ROW, E.FAILED_FOR_GOOD, E.RECOVERED
OTHER = "other.example:443"


class HostWorld(AlertWorld):
    """The same, with one timer for each order."""

    def put_rule(self, *events: AlertEvent, **fields: object) -> None:
        self.put(rule("ops", "shop", *events, per=Per.HOST, **fields))

    def order(self, *statuses: object, second: int = 0, **fields: object) -> int:
        """Let the firing of a new order have these statuses; return its timer."""
        self._orders = getattr(self, "_orders", 0) + 1
        timer_id = self.timer(f"order-{self._orders}")
        self.fire(timer_id, second, *statuses, **fields)  # type: ignore[arg-type]
        return timer_id

    def messages_told(self) -> list[list[Alert]]:
        """Judge, and send what is due within some time; return the alerts of each message."""
        self.judge()
        self.now += 20 * SECOND
        taken = self.take()
        for one in taken:
            self.messages.end(one, self.now)
        return [list(one.message.alerts) for one in taken]

    def later(self, span_ms: int) -> None:
        self.now += span_ms


@pytest.fixture
def world(database: Database) -> HostWorld:
    return HostWorld(database)


def test_many_timers_of_one_host_that_fail_are_one_message_and_one_when_it_answers(world: HostWorld) -> None:
    world.put_rule(FOR_GOOD, RECOVERED)
    orders = [world.order(FAILED) for _ in range(30)]
    world.judge()
    # The rest comes while the message gathers.
    orders += [world.order(FAILED) for _ in range(30)]
    ((alert,),) = world.messages_told()
    assert (alert.event, alert.times, alert.timers, alert.host) == (FOR_GOOD, 60, 60, HOST)
    assert len(alert.last_ids) == MOST_LAST
    assert {int(one.split("-")[0]) for one in alert.last_ids} <= set(orders)
    assert alert.line.startswith(f"60 firings of 60 timers failed for good at {HOST} since ")
    world.order(FAILED, second=30)
    assert world.messages_told() == []
    assert world.rules.alerted().troubled == {"shop": frozenset({HOST})}
    world.order(SUCCEEDED, second=65)
    assert world.messages_told() == []
    world.later(QUIET_MS)
    ((over,),) = world.messages_told()
    assert (over.event, over.about, over.times, over.timers, over.host) == (RECOVERED, FOR_GOOD, 61, 61, HOST)
    assert world.standing() == []
    assert world.rules.alerted().troubled == {}


@pytest.mark.test_all
def test_very_many_timers_are_one_row_and_one_message(world: HostWorld) -> None:
    """Beyond some hundreds the number of timers is not exact, and says so."""
    world.put_rule(FOR_GOOD)
    for _ in range(700):
        world.order(FAILED)
    world.judge()
    assert len(world.standing()) == 1
    ((alert,),) = world.messages_told()
    assert alert.times == 700
    assert 600 <= alert.timers <= 700
    assert f"of some {alert.timers} timers failed" in alert.line


def test_each_host_and_each_named_target_is_a_trouble_of_its_own(world: HostWorld) -> None:
    world.put_rule(FOR_GOOD)
    for host, target in ((HOST, ""), (HOST, "billing"), (OTHER, "")):
        world.order(FAILED, host=host, target=target)
        world.order(FAILED, host=host, target=target)
    (alerts,) = world.messages_told()
    assert sorted((one.host, one.target, one.times) for one in alerts) == [
        (OTHER, "", 2),
        (HOST, "", 2),
        (HOST, "billing", 2),
    ]
    assert world.rules.alerted().troubled == {"shop": frozenset({HOST, OTHER, "target/billing"})}


def test_an_app_with_very_many_hosts_in_trouble_hides_no_other_apps_hosts(world: HostWorld) -> None:
    """Of its own, callback processes are told those that failed last."""
    rules = [
        rule(f"r{number:02}", "big", FOR_GOOD, FIRST, E.LATE, late_ms=1, per=Per.HOST) for number in range(20)
    ]
    world.put(*rules)
    world.put_rule(FOR_GOOD)
    world.order(FAILED)
    world.judge()
    world.database.write(lambda sql: write_troubles(sql, _of_hosts(400, rules, world.now)))
    troubled = world.rules.alerted().troubled
    assert troubled["shop"] == {HOST}
    assert troubled["big"] == {f"h{number}.example:443" for number in range(200, 400)}


def _of_hosts(hosts: int, rules: list[AlertRule], now: int) -> list[Trouble]:
    """Return the troubles of so many hosts, by these rules; a later host failed later."""
    return [
        Trouble(TroubleKey(one.app, one.name, 0, event, f"h{host}.example:443"), "t", now, now, now + host, 1)
        for host in range(hosts)
        for one in rules
        for event in (FOR_GOOD, FIRST, E.LATE)
    ]


def test_a_host_is_not_back_to_normal_while_some_of_its_timers_fail(world: HostWorld) -> None:
    world.put_rule(FIRST, RECOVERED)
    for number in range(10):
        world.order(PENDING, second=number * 20)
        world.order(SUCCEEDED, second=number * 20 + 1)
        world.judge()
    events = [one.event for message in world.messages_told() for one in message]
    assert events == [FIRST]
    world.later(QUIET_MS)
    events = [one.event for message in world.messages_told() for one in message]
    assert events == [RECOVERED]


def test_another_hosts_answers_say_nothing_of_this_one(world: HostWorld) -> None:
    world.put_rule(FOR_GOOD, RECOVERED)
    world.order(FAILED)
    assert len(world.messages_told()) == 1
    world.order(SUCCEEDED, second=60, host=OTHER)
    world.later(2 * QUIET_MS)
    assert world.messages_told() == []


def test_a_timer_that_succeeds_later_ends_it_though_nobody_noted_that(world: HostWorld) -> None:
    """The one timer of its host: what it did stands in its own firings."""
    world.put_rule(FOR_GOOD, RECOVERED)
    bill = world.order(FAILED)
    assert len(world.messages_told()) == 1
    world.fire(bill, 3_600, SUCCEEDED, host="")
    world.later(QUIET_MS)
    ((over,),) = world.messages_told()
    assert over.event is RECOVERED


def test_failures_in_a_row_at_a_host_are_of_different_timers_and_a_success_begins_anew(
    world: HostWorld,
) -> None:
    world.put_rule(ROW, in_a_row=3)
    for number in range(20):
        world.order(PENDING, second=number)
        world.order(PENDING, second=number)
        world.judge()
        world.order(SUCCEEDED, second=number)
        world.judge()
    assert world.messages_told() == []
    for _ in range(3):
        world.order(PENDING, second=60)
    ((alert,),) = world.messages_told()
    assert (alert.event, alert.times, alert.timers) == (ROW, 3, 3)


def test_a_row_of_failures_is_told_though_nothing_happens_any_more(world: HostWorld) -> None:
    """Its host is known to callback processes after some seconds only: until then a success may go unseen."""
    world.put_rule(ROW, in_a_row=3)
    for _ in range(3):
        world.order(FAILED)
    world.judge()
    assert world.take() == []
    world.later(KNOWN_MS)
    ((alert,),) = world.messages_told()
    assert (alert.event, alert.times) == (ROW, 3)


def test_trouble_of_a_host_that_goes_on_is_told_again_after_the_rules_time(world: HostWorld) -> None:
    world.put_rule(FOR_GOOD, repeat_ms=3_600 * SECOND)
    world.order(FAILED)
    assert len(world.messages_told()) == 1
    world.order(FAILED, second=3_500)
    assert world.messages_told() == []
    world.order(FAILED, second=3_700)
    ((alert,),) = world.messages_told()
    assert (alert.times, alert.timers) == (3, 3)


def test_late_firings_of_a_host_are_over_once_one_is_not_late(world: HostWorld) -> None:
    world.put_rule(E.LATE, RECOVERED, late_ms=5_000)
    world.order(SUCCEEDED, lateness_ms=9_000, first_sent_at=1)
    world.order(SUCCEEDED, lateness_ms=7_000, first_sent_at=1)
    ((alert,),) = world.messages_told()
    assert (alert.event, alert.times) == (E.LATE, 2)
    world.order(SUCCEEDED, second=60, lateness_ms=6_000, first_sent_at=1)
    world.later(QUIET_MS)
    assert world.messages_told() == []
    world.order(SUCCEEDED, second=300, lateness_ms=3, first_sent_at=1)
    world.later(QUIET_MS)
    ((over,),) = world.messages_told()
    assert over.event is RECOVERED
