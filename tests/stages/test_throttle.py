"""The throttle: one order an app for the calls of a few ms, and nothing for apps without a limit."""

from collections.abc import Sequence

import pytest

from tests.stages.made_rules import Rules
from wangtimer.callback.permits import Permit, PermitAnswer
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.executor.throttle import BEGINS_WITHIN_S, READ_EVERY_S, READ_FIRST_EVERY_S, Throttle
from wangtimer.store.redis.permits import PermitOrder, Permitted
from wangtimer.store.redis.slices import Leases
from wangtimer.testing.doubles import (
    HandClock,
    MemoryPermits,
    MemoryServer,
    MemorySlices,
)

APP, RATED = "shop", "rated"
HOST = "shop.test:80"
LANES = {app: SharedLane.of_limit(app) for app in (APP, RATED)}
LEASES = Leases(lead_ms=1_000, lock_ms=5_000, armed_ms=8_000, running_ms=6_000)


class NotedPermits(MemoryPermits):
    """Notes the orders of each trip."""

    def __init__(self, slices: MemorySlices) -> None:
        super().__init__(slices, 10_000)
        self.trips: list[Sequence[PermitOrder]] = []

    def carry_out(self, orders: Sequence[PermitOrder]) -> list[Permitted]:
        self.trips.append(orders)
        return super().carry_out(orders)


class Setting:
    """A throttle on memory, that knows two apps with limits."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.server = MemoryServer("Redis", self.clock)
        self.permits = NotedPermits(MemorySlices(self.server, self.clock, LEASES))
        rules = Rules(self.server, self.clock)
        self.limits, self.pauses = rules.limits, rules.pauses
        self.limits.write(CallLimits({APP: CallLimit(at_once=3), RATED: CallLimit(per_second=10)}))
        self.sql_is_away = False
        self.in_sql = CallLimits({APP: CallLimit(at_once=2)})
        self.throttle = self.start()
        self.answers: list[PermitAnswer] = []

    def start(self) -> Throttle:
        """Return the throttle of a process that starts now."""
        return Rules(self.server, self.clock, self._of_sql).throttle(self.permits)

    def _of_sql(self) -> CallLimits:
        if self.sql_is_away:
            raise StoreAway("SQL", "away")
        return self.in_sql

    def ask(self, number: int, app: str = APP, has_waited: bool = False) -> None:
        for _ in range(number):
            self.throttle.ask(app, HOST, has_waited, (), 0, self.answers.append)

    @property
    def given(self) -> list[Permit]:
        return [one for given in self.answers if isinstance(given, tuple) for one in given]


@pytest.fixture
def it() -> Setting:
    return Setting()


def test_calls_of_all_apps_that_ask_together_share_one_trip(it: Setting) -> None:
    it.ask(2)
    it.ask(2, RATED)
    it.ask(1)
    it.throttle.carry_out()
    assert [[(one.lane, one.fresh) for one in orders] for orders in it.permits.trips] == [
        [(LANES[APP], 3), (LANES[RATED], 2)]
    ]
    assert it.answers.count(LANES[APP]) == 0


def test_who_gets_none_is_told_so(it: Setting) -> None:
    it.ask(5)
    it.throttle.carry_out()
    assert len(it.given) == 3
    assert it.answers.count(LANES[APP]) == 2


def test_who_has_waited_goes_first(it: Setting) -> None:
    it.ask(3)
    waited: list[PermitAnswer] = []
    it.throttle.ask(APP, HOST, True, (), 0, waited.append)
    it.throttle.carry_out()
    assert isinstance(waited[0], tuple)
    assert len(it.given) == 2


def test_calls_that_may_take_longer_have_their_permits_for_longer(it: Setting) -> None:
    it.ask(1)
    long: list[PermitAnswer] = []
    it.throttle.ask(APP, HOST, False, (), 40_000, long.append)
    it.throttle.carry_out()
    ((permit,),) = long
    assert permit.longest_ms == 40_000
    assert it.throttle.may_begin(APP, HOST, (permit,), 40_000)
    assert [one.longest_ms for one in it.given] == [0]
    it.clock.sleep(12)  # the others' time is over, and so are their permits
    it.ask(5)
    it.throttle.carry_out()
    assert len(it.given) == 1 + 2


def test_a_permit_for_a_shorter_call_is_prolonged_not_given_anew(it: Setting) -> None:
    (pulled,) = it.throttle.take_all({LANES[APP]: 1})[LANES[APP]][0]
    assert it.throttle.may_begin(APP, HOST, (pulled,), 0)
    assert not it.throttle.may_begin(APP, HOST, (pulled,), 40_000)
    long: list[PermitAnswer] = []
    it.throttle.ask(APP, HOST, True, (pulled,), 40_000, long.append)
    it.throttle.carry_out()
    assert long == [(pulled._replace(longest_ms=40_000),)]
    it.clock.sleep(12)
    it.ask(5)
    it.throttle.carry_out()
    assert len(it.given) == 2


@pytest.mark.parametrize("asks", ["for calls", "for what is to be pulled"])
def test_what_could_not_be_given_back_is_given_back_when_redis_answers(it: Setting, asks: str) -> None:
    """A permit of a call that may take minutes would last for as long."""
    long: list[PermitAnswer] = []
    for _ in range(3):
        it.throttle.ask(APP, HOST, False, (), 640_000, long.append)
    it.throttle.carry_out()
    it.throttle.give_back(
        [one for given in long if isinstance(given, tuple) for one in given], is_unused=False
    )
    it.server.away = True
    if asks == "for calls":
        it.throttle.carry_out()
    else:
        with pytest.raises(StoreAway):
            it.throttle.take_all({LANES[APP]: 1})
    it.server.away = False
    it.ask(3)
    it.throttle.carry_out()
    assert len(it.given) == 3


def test_a_rate_asks_nobody_how_long(it: Setting) -> None:
    (pulled,) = it.throttle.take_all({LANES[RATED]: 1})[LANES[RATED]][0]
    assert it.throttle.may_begin(RATED, HOST, (pulled,), 40_000)


def test_a_permit_is_for_a_call_that_begins_soon(it: Setting) -> None:
    it.clock.sleep(5)
    it.ask(1)
    it.throttle.carry_out()
    assert it.given[0].begins_by == 5 + BEGINS_WITHIN_S


def test_what_comes_back_goes_along_with_the_next_order(it: Setting) -> None:
    it.ask(3)
    it.throttle.carry_out()
    it.throttle.give_back(it.given[:1], is_unused=False)
    it.ask(1)
    it.throttle.carry_out()
    assert len(it.permits.trips) == 2
    assert len(it.given) == 4


def test_a_puller_takes_along_what_came_back(it: Setting) -> None:
    it.ask(3)
    it.throttle.carry_out()
    it.throttle.give_back(it.given[:1], is_unused=False)
    permits, wait_s = it.throttle.take_all({LANES[APP]: 5})[LANES[APP]]
    assert (len(permits), wait_s) == (1, 0.0)
    assert not it.throttle.has_wants


def test_a_puller_takes_away_nobodys_question(it: Setting) -> None:
    it.ask(1)
    it.throttle.take_all({LANES[APP]: 1})
    it.throttle.carry_out()
    assert len(it.given) == 1


def test_a_puller_learns_when_the_rate_leaves_the_next_call(it: Setting) -> None:
    permits, wait_s = it.throttle.take_all({LANES[RATED]: 5})[LANES[RATED]]
    assert len(permits) == 2
    assert wait_s == pytest.approx(0.1)


def test_the_limit_of_a_host_counts_the_calls_of_all_queues(it: Setting) -> None:
    it.limits.write(CallLimits(hosts={HOST: CallLimit(at_once=3)}))
    it.throttle.read_rules()
    common = SharedLane.of_host_limit(HOST)
    taken = it.throttle.take_all({common: 2, common.in_queue(1): 2})
    assert [len(permits) for permits, _ in taken.values()] == [2, 1]
    assert {permit.lane for permits, _ in taken.values() for permit in permits} == {common}


def test_a_call_a_second_that_has_ended_costs_no_command(it: Setting) -> None:
    it.ask(1, RATED)
    it.throttle.carry_out()
    it.throttle.give_back(it.given[:1], is_unused=False)
    assert not it.throttle.has_wants


def test_while_redis_is_away_nobody_knows(it: Setting) -> None:
    it.server.away = True
    it.ask(2)
    it.throttle.carry_out()
    assert it.answers == [None, None]
    with pytest.raises(StoreAway):
        it.throttle.take_all({LANES[APP]: 1})


def test_a_limit_that_went_meanwhile_answers_too(it: Setting) -> None:
    it.ask(1)
    it.limits.write(CallLimits())
    it.throttle.read_rules()
    it.throttle.carry_out()
    assert it.answers == [()]
    assert it.permits.trips == []
    assert it.throttle.take_all({LANES[APP]: 5})[LANES[APP]] == ([], 0.0)


def test_limits_stay_while_redis_has_lost_them(it: Setting) -> None:
    it.server.lose()
    it.throttle.read_rules()
    assert not it.throttle.may_begin(APP, HOST, (), 0)
    it.limits.write(CallLimits())
    it.throttle.read_rules()
    assert it.throttle.may_begin(APP, HOST, (), 0)


def test_a_redis_that_is_away_at_the_start_is_read_later(it: Setting) -> None:
    it.server.away = True
    throttle = it.start()
    it.server.away = False
    throttle.read_rules()
    assert throttle.limits == it.limits.read()


def test_a_process_that_starts_while_redis_has_lost_the_limits_asks_sql(it: Setting) -> None:
    it.server.lose()
    throttle = it.start()
    assert throttle.limits == it.in_sql
    assert throttle.may_begin(RATED, HOST, (), 0)
    it.limits.write(CallLimits({RATED: CallLimit(per_second=10)}))
    throttle.read_rules()
    assert throttle.limits.apps == {RATED: CallLimit(per_second=10)}


def test_no_app_is_called_before_the_limits_are_known(it: Setting) -> None:
    it.server.lose()
    it.sql_is_away = True
    throttle = it.start()
    assert not throttle.may_begin("any", HOST, (), 0)
    assert not throttle.is_open("any", HOST)
    lane = SharedLane.of_limit("any")
    assert throttle.take_all({lane: 5})[lane] == ([], 0.0)
    throttle.ask("any", HOST, False, (), 0, it.answers.append)
    assert throttle.run_once() == READ_FIRST_EVERY_S
    assert it.answers == [None]
    # Until the next reading who asks waits: an answer would be asked for again at once.
    throttle.ask("any", HOST, False, (), 0, it.answers.append)
    throttle.run_once()
    assert it.answers == [None]
    it.clock.sleep(READ_FIRST_EVERY_S)
    it.sql_is_away = False
    throttle.run_once()
    assert it.answers == [None, ()]
    assert throttle.may_begin("any", HOST, (), 0)
    assert throttle.is_open("any", HOST)
    assert it.permits.trips == []


def test_limits_are_read_again_seldom(it: Setting) -> None:
    it.throttle.run_once()
    it.limits.write(CallLimits())
    it.clock.sleep(READ_EVERY_S - 0.1)
    it.throttle.run_once()
    assert not it.throttle.may_begin(APP, HOST, (), 0)
    it.clock.sleep(0.1)
    it.throttle.run_once()
    assert it.throttle.may_begin(APP, HOST, (), 0)


def test_limits_that_cannot_be_read_stop_no_start(it: Setting) -> None:
    def fail() -> CallLimits:
        raise TypeError("a later format")

    it.server.lose()
    throttle = Rules(it.server, it.clock, fail).throttle(it.permits)
    assert not throttle.has_wants
