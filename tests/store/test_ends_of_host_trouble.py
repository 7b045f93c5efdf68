"""When the trouble of a host is over, when a row of failures has ended, and what tells of it again."""

import pytest
from sqlalchemy import update

from tests.store.alert_worlds import FAILED, HOST, NOW, PENDING, SECOND, SUCCEEDED, rule
from tests.store.members import outcome_of
from tests.store.test_alerts_of_hosts import FIRST, FOR_GOOD, RECOVERED, ROW, HostWorld
from wangtimer.core.alerts.alert_message import Alert
from wangtimer.core.alerts.alert_place import MOST_PLACES, AlertedApps, AlertPlace, NotedAt
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertMarks, AlertNote, Per
from wangtimer.core.alerts.judging import Happened, by_trouble, judge
from wangtimer.core.alerts.trouble import KNOWN_MS, QUIET_MS, Trouble, TroubleKey
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.time.zones import DAY_MS
from wangtimer.store.sql.accepted_firings import AcceptedFirings
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.tables import firings
from wangtimer.testing.doubles import HandClock

ACCEPTED = FiringStatus.ACCEPTED


class CallsWorld(HostWorld):
    """Outcomes are marked as callback processes mark them, each at its second."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.clock = HandClock(NOW)
        self.process()

    def process(self) -> None:
        """Let another callback process make the calls from here on."""
        self.alerted = self.rules.alerted()
        self.marks = AlertMarks(lambda: self.alerted, self.clock)

    def plan(self, second: float, name: str) -> Firing:
        one = Firing.planned(self.timer(name), NOW + int(second * SECOND), 0)
        self.sql.insert([one])
        return one

    def ends(self, one: Firing, second: float, status: FiringStatus, attempt: int = 1) -> None:
        """Let an attempt of a firing end so."""
        self.clock.move_to(NOW + second * SECOND)
        self.now = int(self.clock.now_ms())
        error = "HTTP 503" if status in (PENDING, FAILED) else ""
        sent = {"first_sent_at": self.now - 50, "cost_ms": 50, "error": error}
        outcome = outcome_of(one.member._replace(attempt=attempt), status, NOW + DAY_MS, **sent)
        self.sql.firings.settle([self.marks.noted(outcome, AlertPlace("shop", HOST))])

    def alerts_at(self, second: float) -> list[Alert]:
        """Judge at this second, tell processes, and return what is told."""
        self.now = NOW + int(second * SECOND)
        self.judge()
        self.alerted = self.rules.alerted()
        taken = self.take()
        for one in taken:
            self.messages.end(one, self.now)
        return [alert for one in taken for alert in one.message.alerts]

    def events_until(self, first: int, last: int) -> list[AlertEvent]:
        """Do so every five seconds."""
        return [alert.event for second in range(first, last, 5) for alert in self.alerts_at(second)]


@pytest.fixture
def world(database: Database) -> CallsWorld:
    return CallsWorld(database)


def test_what_was_only_accepted_ends_no_trouble_and_no_row_of_failures(world: CallsWorld) -> None:
    world.put_rule(FOR_GOOD, ROW, RECOVERED, in_a_row=3)
    world.process()
    told = []
    for number in range(4):
        begin = number * 300
        one = world.plan(begin, f"report-{number}")
        world.ends(one, begin + 1, ACCEPTED)
        told += world.events_until(begin + 5, begin + 30)
        # As whoever ends it does.
        waiting = update(firings).where(firings.c.timer_id == one.timer_id).values(status=PENDING.value)
        world.database.write(lambda sql, waiting=waiting: sql.execute(waiting))
        world.ends(one, begin + 31, FAILED)
        told += world.events_until(begin + 35, begin + 300)
    assert told == [FOR_GOOD, ROW]


def test_accepted_work_that_is_done_ends_the_trouble_of_its_host(world: CallsWorld) -> None:
    world.put_rule(FOR_GOOD, RECOVERED)
    world.process()
    world.ends(world.plan(0, "one"), 0.1, FAILED)
    assert world.events_until(5, 15) == [FOR_GOOD]
    other = world.plan(20, "other")
    world.ends(other, 20, ACCEPTED)
    assert world.events_until(25, 200) == []
    done = outcome_of(other.member._replace(attempt=1), SUCCEEDED)
    notes = world.marks.noted(done, AlertPlace("shop", HOST)).notes
    AcceptedFirings(world.database).acknowledge(done.member, world.now, notes)
    assert world.events_until(205, 215) == [RECOVERED]


def test_what_was_late_and_is_done_before_it_is_judged_is_late(world: CallsWorld) -> None:
    world.put_rule(FOR_GOOD, AlertEvent.LATE, late_ms=5_000)
    world.process()
    world.ends(world.plan(0, "one"), 0.1, FAILED)
    assert world.events_until(5, 15) == [FOR_GOOD]
    world.fire(other := world.timer("other"), 20, ACCEPTED, lateness_ms=9_000, first_sent_at=1)
    done = outcome_of(Member(other, NOW + 20 * SECOND, 1), SUCCEEDED)
    notes = world.marks.noted(done, AlertPlace("shop", HOST)).notes
    assert notes
    AcceptedFirings(world.database).acknowledge(done.member, world.now, notes)
    assert world.events_until(25, 40) == [AlertEvent.LATE]


@pytest.mark.parametrize("is_known", [False, True])
def test_failures_with_successes_between_are_no_row(world: CallsWorld, is_known: bool) -> None:
    """Ten calls a second, every other one fails; whether or not processes know that the host is in trouble."""
    world.put_rule(ROW, in_a_row=4)
    world.process()
    for second in range(25):
        for tenth in range(10):
            one = world.plan(second + tenth / 10, f"order-{second}-{tenth}")
            world.ends(one, second + tenth / 10 + 0.01, PENDING if tenth % 2 else SUCCEEDED)
        if second % 5 == 4:
            known = world.alerted
            assert world.alerts_at(second + 1) == []
            world.alerted = world.alerted if is_known else known
    world.ends(world.plan(29, "good"), 29, SUCCEEDED)
    for tenth in range(4):
        world.ends(world.plan(30 + tenth, f"last-{tenth}"), 30 + tenth, PENDING)
    (alert,) = [*world.alerts_at(34), *world.alerts_at(40)]
    assert (alert.times, alert.timers) == (4, 4)
    assert "4 attempts in a row of 4 timers failed" in alert.line


@pytest.mark.parametrize("processes", [1, 8])
def test_a_success_before_the_row_began_ends_it_for_no_process(processes: int) -> None:
    """Each process had its last success a day ago; then one call in ten minutes, by each in turn, and all fail."""
    clock, alerted = HandClock(NOW), AlertedApps({"shop": None}, {"shop": frozenset({HOST})})
    marks = [AlertMarks(lambda: alerted, clock) for _ in range(processes)]
    place = AlertPlace("shop", HOST)
    for one in marks:
        one.noted(outcome_of(Member(1, NOW, 1), SUCCEEDED), place)
    told_by = rule("ops", "shop", ROW, in_a_row=5, per=Per.HOST)
    held: dict[TroubleKey, Trouble] = {}
    told: list[Alert] = []
    for number in range(1, 6):
        clock.move_to(NOW + DAY_MS + number * 600_000)
        now = int(clock.now_ms())
        failed = outcome_of(Member(100 + number, now, 1), PENDING, error="HTTP 503")
        at = NotedAt.of(marks[number % processes].noted(failed, place))
        assert at is not None
        note = AlertNote(failed.member, PENDING, None, 503, "HTTP 503", place, at.known_at, at.well_at)
        happened = [Happened(note, "shop", f"order-{number}")]
        at_ms = now + KNOWN_MS
        found = judge(by_trouble(happened, {"shop": [told_by]}, at_ms), held, lambda _timer_id: 0, at_ms)
        held |= found.troubles
        told += [alert for _, alert in found.to_tell]
        assert (number, len(told)) == (number, int(number == 5))
    assert told[0].line.startswith("5 attempts in a row of 5 timers failed")


def test_a_row_that_was_told_and_has_ended_is_said_to_be_none(world: CallsWorld) -> None:
    world.put_rule(ROW, in_a_row=3)
    world.process()
    for number in range(3):
        world.ends(world.plan(number, f"order-{number}"), number, PENDING)
    world.alerts_at(5)
    ((before,), known) = (world.alerts_at(10 + KNOWN_MS // SECOND) or world.alerts_at(30)), 31
    assert before.line.startswith("3 attempts in a row of 3 timers failed at ")
    for number in range(30):
        begin = known + number * 2
        world.ends(world.plan(begin, f"good-{number}"), begin, SUCCEEDED)
        world.ends(world.plan(begin + 1, f"bad-{number}"), begin + 1, PENDING)
    again = [alert for second in (95, 110) for alert in world.alerts_at(second)]
    assert [one.line.split(" at ")[0] for one in again] == [
        "33 attempts of 33 timers failed, with successes between"
    ]


def test_the_end_of_a_trouble_is_seen_whatever_the_moments_of_firings_are(world: CallsWorld) -> None:
    """Half of the first retries succeed, those of earlier moments; the rest succeeds later. Each night is told."""
    world.put_rule(FIRST, RECOVERED)
    world.process()
    for night in range(2):
        begin = night * 86_400
        orders = [world.plan(begin + number / 10, f"order-{night}-{number}") for number in range(20)]
        for number, one in enumerate(orders):
            world.ends(one, begin + number / 10 + 0.05, PENDING)
        told = world.events_until(begin + 5, begin + 20)
        for number, one in enumerate(orders[12:]):
            world.ends(one, begin + 30 + number / 10, PENDING, 2)
        for number, one in enumerate(orders[:12]):
            world.ends(one, begin + 31 + number / 10, SUCCEEDED, 2)
        told += world.events_until(begin + 35, begin + 300)
        assert told == [FIRST, RECOVERED]


def test_the_end_of_a_trouble_that_nobody_noted_is_seen_in_its_last_firings(world: CallsWorld) -> None:
    world.put_rule(FIRST, RECOVERED)
    world.process()
    first, last = world.plan(0, "first"), world.plan(1, "last")
    world.ends(last, 1, PENDING)
    world.ends(first, 2, PENDING)
    assert world.events_until(5, 15) == [FIRST]
    world.process()
    world.alerted = type(world.alerted)({"shop": None})
    world.ends(first, 30, SUCCEEDED, 2)
    assert world.events_until(35, 200) == [RECOVERED]


def test_a_success_before_the_last_failure_ends_nothing(world: CallsWorld) -> None:
    world.put_rule(FIRST, RECOVERED)
    world.process()
    first, last = world.plan(0, "first"), world.plan(1, "last")
    world.ends(first, 1, PENDING)
    assert world.events_until(5, 15) == [FIRST]
    world.ends(first, 20, SUCCEEDED, 2)
    world.ends(last, 21, FAILED)
    assert world.events_until(25, 300) == []


def test_an_outage_after_an_end_that_no_look_saw_is_told_and_so_is_that_end(world: CallsWorld) -> None:
    """A minute after the last failure a call succeeds, and the next one fails before anybody looks."""
    world.put_rule(FOR_GOOD, RECOVERED)
    world.process()
    world.ends(world.plan(0, "one"), 0, FAILED)
    assert world.events_until(5, 200) == [FOR_GOOD]
    world.ends(world.plan(202, "good"), 202, SUCCEEDED)
    world.ends(world.plan(203, "bad"), 203, FAILED)
    assert world.events_until(205, 215) == [RECOVERED, FOR_GOOD]
    ((alert,),) = [[row.times for row in world.standing()]]
    assert alert == 1


def test_of_very_many_hosts_in_trouble_those_are_told_that_failed_last(world: CallsWorld) -> None:
    world.put_rule(FOR_GOOD)
    for number in range(MOST_PLACES + 1):
        # The first by name are the last to fail.
        world.order(FAILED, second=number, host=f"h{900 - number}.example:443")
        if number % 100 == 0:
            world.judge()
    world.judge()
    troubled = world.rules.alerted().troubled["shop"]
    assert len(troubled) == MOST_PLACES
    assert "h900.example:443" not in troubled


@pytest.mark.test_all
def test_an_outage_is_told_though_one_timer_of_the_host_failed_before(world: CallsWorld) -> None:
    world.put_rule(FOR_GOOD, RECOVERED)
    bad = world.order(FAILED)
    assert [one.timers for (one,) in world.messages_told()] == [1]
    for second in range(30, 150, 30):
        world.fire(bad, second, FAILED)
        world.order(SUCCEEDED, second=second + 1)
        assert world.messages_told() == []
    for _ in range(300):
        world.order(FAILED, second=150)
    ((alert,),) = world.messages_told()
    assert (alert.times, alert.timers) == (305, 301)
    for _ in range(300):
        world.order(FAILED, second=150 + QUIET_MS // SECOND // 2)
    assert world.messages_told() == []
