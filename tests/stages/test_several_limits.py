"""The throttle where several limits apply to a call: one after the other, the host's first."""

from typing import Any

import pytest

from tests.stages.test_throttle import APP, HOST, Setting
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.pauses import Pauses
from wangtimer.core.flow.slicing import SharedLane

AT_HOST, APP_THERE, OF_APP = (
    SharedLane.of_host_limit(HOST),
    SharedLane.of_app_at_host(APP, HOST),
    SharedLane.of_limit(APP),
)


def setting(**rules: Any) -> Setting:
    """Return a throttle that knows these rules; the app may have 3 calls at once."""
    it = Setting()
    it.pauses.write(rules.pop("pauses", Pauses()))
    it.limits.write(CallLimits({APP: CallLimit(at_once=3)}, **rules))
    it.throttle.read_rules()
    return it


def test_a_call_gets_a_permit_of_each_limit_host_first() -> None:
    it = setting(hosts={HOST: CallLimit(at_once=2)}, to_one_host={APP: CallLimit(at_once=9)})
    it.ask(1)
    it.throttle.carry_out()
    (permits,) = it.answers
    assert isinstance(permits, tuple)
    assert [one.lane for one in permits] == [AT_HOST, APP_THERE, OF_APP]
    assert it.throttle.may_begin(APP, HOST, permits, 0)
    assert not it.throttle.may_begin(APP, HOST, permits[:2], 0)
    assert [[order.lane for order in trip] for trip in it.permits.trips] == [[AT_HOST], [APP_THERE], [OF_APP]]


def test_who_is_refused_waits_for_what_refused_it_and_gives_back_what_it_had() -> None:
    it = setting(hosts={HOST: CallLimit(at_once=9)})
    it.ask(5)
    it.throttle.carry_out()
    assert it.answers.count(OF_APP) == 2
    it.throttle.carry_out()
    held = it.server.table("permits")[AT_HOST]
    assert len(held) == 3


def test_a_call_that_was_pulled_with_a_permit_asks_the_others_and_loses_it_where_one_refuses() -> None:
    it = setting(hosts={HOST: CallLimit(at_once=1)})
    for _ in range(2):
        (mine, _) = it.throttle.take_all({OF_APP: 1})[OF_APP]
        it.throttle.ask(APP, HOST, True, tuple(mine), 0, it.answers.append)
    it.throttle.carry_out()
    it.throttle.carry_out()
    assert [one.lane for one in it.given] == [OF_APP, AT_HOST]
    assert it.answers.count(AT_HOST) == 1
    assert len(it.server.table("permits")[OF_APP]) == 1


def test_any_host_has_the_default_and_a_named_one_its_own() -> None:
    it = setting(hosts={"*": CallLimit(at_once=1), HOST: CallLimit(at_once=2)})
    limits = it.throttle.limits
    assert limits.limit_of(AT_HOST) == CallLimit(at_once=2)
    assert limits.limit_of(SharedLane.of_host_limit("other:80")) == CallLimit(at_once=1)


def test_while_redis_is_away_nobody_keeps_a_permit() -> None:
    it = setting(hosts={HOST: CallLimit(at_once=1)})
    (mine, _) = it.throttle.take_all({OF_APP: 1})[OF_APP]
    it.throttle.ask(APP, HOST, True, tuple(mine), 0, it.answers.append)
    it.server.away = True
    it.throttle.carry_out()
    assert it.answers == [None]
    it.server.away = False
    it.throttle.carry_out()
    assert it.server.table("permits")[OF_APP] == {}
    it.server.away = True
    with pytest.raises(StoreAway):
        it.throttle.take_all({OF_APP: 1})[OF_APP]


def test_what_is_paused_is_asked_of_no_limit() -> None:
    it = setting(pauses=Pauses(frozenset({f"host:{HOST}"})), hosts={HOST: CallLimit(at_once=1)})
    it.ask(1)
    it.throttle.carry_out()
    assert it.answers == [SharedLane.of_pause(f"host:{HOST}")]
    assert it.permits.trips == []
