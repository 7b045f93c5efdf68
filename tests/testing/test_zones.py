"""Zones: a timer's own decides when it fires, that of the `WangTimer` how moments are read and shown."""

import pytest

from tests.testing.timers import Make, timer, times


def test_a_day_that_is_an_hour_shorter_has_its_moment_by_the_clock(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(start="2027-03-27T00:00", timezone="Europe/Berlin")
    timer(wangtimer, cron="0 9 * * *", timezone="Europe/Berlin")
    calls = wangtimer.advance(days=2)
    assert [call.at.isoformat() for call in calls] == [
        "2027-03-27T09:00:00+01:00",
        "2027-03-28T09:00:00+02:00",
    ]
    assert wangtimer.now.isoformat() == "2027-03-29T01:00:00+02:00"


def test_a_moment_that_spring_swallows_fires_right_after_the_gap(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(start="2027-03-28T00:00", timezone="Europe/Berlin")
    timer(wangtimer, cron="30 2 * * *", timezone="Europe/Berlin")
    assert times(wangtimer.advance_to("2027-03-29T12:00")) == ["03-28 03:00:00.000", "03-29 02:30:00.000"]


def test_an_hour_that_autumn_has_twice_counts_twice_for_each_quarter(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(start="2027-10-31T01:59", timezone="Europe/Berlin")
    timer(wangtimer, "quarters", cron="*/15 * * * *", timezone="Europe/Berlin")
    timer(wangtimer, "once", cron="30 2 * * *", timezone="Europe/Berlin")
    wangtimer.advance_to("2027-10-31T03:00")
    assert times(wangtimer.calls_of("quarters")) == [
        *[f"10-31 02:{minute:02}:00.000" for minute in (0, 15, 30, 45)] * 2,
        "10-31 03:00:00.000",
    ]
    assert [call.at.isoformat() for call in wangtimer.calls_of("once")] == ["2027-10-31T02:30:00+02:00"]


def test_a_timer_without_a_zone_goes_by_utc_wherever_the_test_is(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(start="2027-01-04T00:00", timezone="Asia/Shanghai")
    timer(wangtimer, cron="0 9 * * *")
    assert times(wangtimer.advance(days=1)) == ["01-04 17:00:00.000"]


def test_a_moment_may_bring_its_own_offset(make_wangtimer: Make) -> None:
    wangtimer = make_wangtimer(start="2027-01-04T00:00:00Z", timezone="Asia/Shanghai")
    assert wangtimer.now.isoformat() == "2027-01-04T08:00:00+08:00"
    wangtimer.advance_to("2027-01-04T09:00+09:00")
    assert wangtimer.now.isoformat() == "2027-01-04T08:00:00+08:00"


def test_a_time_that_clocks_skip_is_refused(make_wangtimer: Make) -> None:
    with pytest.raises(ValueError, match=r"02:30.* does not exist in Europe/Berlin"):
        make_wangtimer(start="2027-03-28T02:30", timezone="Europe/Berlin")
