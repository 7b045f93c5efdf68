"""The agenda: which slices need a trigger, how one is closed without losing what is added meanwhile."""

import pytest

from tests.store.worlds import HotWorld
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.agenda import Agenda

HERE = Slice(29_920_000, 0)
NEAR, LATER, PUT_OFF = 1_000, 2_000, 9_000
FAR_AHEAD = 1_000_000


@pytest.fixture
def agenda(hot: HotWorld) -> Agenda:
    return hot.agenda


def needs_by(agenda: Agenda, moment: int) -> tuple[Slice, ...]:
    return agenda.needs_until(moment, limit=100, past=0, past_limit=0)


def moment_of(agenda: Agenda, slice_: Slice = HERE) -> int | None:
    """Return when the slice needs a trigger, None when it is not on the agenda."""
    for moment in (NEAR - 500, NEAR, LATER, PUT_OFF, PUT_OFF + 1):
        if slice_ in needs_by(agenda, moment):
            return moment
    assert slice_ not in needs_by(agenda, FAR_AHEAD)
    return None


# looking


def test_it_is_noted_until_when_somebody_has_looked(agenda: Agenda) -> None:
    assert agenda.looked_until() is None
    for moment in (500, 1_500):
        agenda.needs_until(moment, limit=9, past=0, past_limit=0)
        assert agenda.looked_until() == moment


def test_an_empty_agenda_needs_nothing(agenda: Agenda) -> None:
    assert needs_by(agenda, FAR_AHEAD) == ()


def test_slices_are_needed_from_their_moment_on_in_its_order(agenda: Agenda) -> None:
    agenda.add([(Slice(3, 1), 300), (Slice(1, 1), 100), (Slice(2, 10), 200)])
    assert needs_by(agenda, 99) == ()
    assert needs_by(agenda, 200) == (Slice(1, 1), Slice(2, 10))


def test_the_look_is_limited_and_keeps_the_nearest(agenda: Agenda) -> None:
    agenda.add([(Slice(minute, 0), minute) for minute in range(1, 6)])
    assert agenda.needs_until(10, limit=2, past=0, past_limit=0) == (Slice(1, 0), Slice(2, 0))


def test_past_slices_are_limited_by_themselves_and_come_oldest_first(agenda: Agenda) -> None:
    agenda.add([(Slice(minute, 0), minute * 100) for minute in (5, 1, 3, 2, 4)])
    seen = agenda.needs_until(500, limit=2, past=300, past_limit=1)
    assert seen == (Slice(1, 0), Slice(3, 0), Slice(4, 0))


def test_a_slice_at_the_border_of_the_past_is_seen_once(agenda: Agenda) -> None:
    agenda.add([(HERE, 300)])
    assert agenda.needs_until(500, limit=9, past=300, past_limit=9) == (HERE,)
    assert agenda.needs_until(500, limit=9, past=301, past_limit=9) == (HERE,)


def test_looking_leaves_the_entries(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    assert needs_by(agenda, NEAR) == needs_by(agenda, NEAR) == (HERE,)


# adding


def test_a_later_need_does_not_put_a_slice_off(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.add([(HERE, LATER)])
    assert moment_of(agenda) == NEAR


def test_a_sooner_need_brings_a_slice_forward(agenda: Agenda) -> None:
    agenda.add([(HERE, LATER)])
    agenda.add([(HERE, NEAR)])
    assert moment_of(agenda) == NEAR


def test_adding_no_needs_does_nothing(agenda: Agenda) -> None:
    agenda.add([])
    assert needs_by(agenda, FAR_AHEAD) == ()


# closing


def test_an_empty_slice_is_struck_out(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) is None


def test_a_closed_slice_gets_its_next_need(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.finish_closing(HERE, "a", LATER)
    assert moment_of(agenda) == LATER


def test_a_next_need_may_lie_beyond_the_putting_off(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.finish_closing(HERE, "a", PUT_OFF + 1)
    assert moment_of(agenda) == PUT_OFF + 1


def test_a_trigger_that_dies_while_closing_leaves_an_entry(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    assert moment_of(agenda) == PUT_OFF


@pytest.mark.parametrize("moment", [NEAR, PUT_OFF + 1])
def test_an_add_while_a_slice_is_closing_keeps_its_entry(agenda: Agenda, moment: int) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.add([(HERE, moment)])
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) == min(moment, PUT_OFF)


def test_after_an_add_while_closing_the_next_need_only_brings_forward(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.add([(HERE, LATER)])
    agenda.finish_closing(HERE, "a", PUT_OFF + 1)
    assert moment_of(agenda) == LATER
    agenda.finish_closing(HERE, "a", NEAR)
    assert moment_of(agenda) == NEAR


def test_anothers_mark_is_respected(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.begin_closing(HERE, "b", PUT_OFF)
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) == PUT_OFF
    agenda.finish_closing(HERE, "b", None)
    assert moment_of(agenda) is None


def test_closing_twice_does_not_strike_out_what_was_added_in_between(agenda: Agenda) -> None:
    agenda.add([(HERE, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.finish_closing(HERE, "a", None)
    agenda.add([(HERE, LATER)])
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) == LATER


def test_a_slice_that_is_not_on_the_agenda_is_not_put_there_by_closing(agenda: Agenda) -> None:
    agenda.begin_closing(HERE, "a", PUT_OFF)
    assert moment_of(agenda) is None
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) is None


def test_a_need_found_while_closing_is_noted_though_the_agenda_was_lost(hot: HotWorld) -> None:
    hot.agenda.add([(HERE, NEAR)])
    hot.agenda.begin_closing(HERE, "a", PUT_OFF)
    hot.lose_all()
    hot.agenda.finish_closing(HERE, "a", LATER)
    assert moment_of(hot.agenda) == LATER


def test_closing_one_slice_leaves_the_others(agenda: Agenda) -> None:
    other = Slice(HERE.minute, 1)
    agenda.add([(HERE, NEAR), (other, NEAR)])
    agenda.begin_closing(HERE, "a", PUT_OFF)
    agenda.add([(other, LATER)])
    agenda.finish_closing(HERE, "a", None)
    assert moment_of(agenda) is None
    assert moment_of(agenda, other) == NEAR


# loading the horizon
