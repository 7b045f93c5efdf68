from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.credit import Credits
from wangtimer.core.flow.slicing import Slice

MINUTE = 7


def slices(number: int, minute: int = MINUTE) -> list[Slice]:
    return [Slice(minute, bucket) for bucket in range(number)]


@pytest.fixture
def credits() -> Credits:
    return Credits(100)


def test_a_slice_has_its_own_credit_whatever_others_use(credits: Credits) -> None:
    first, second = slices(2)
    with credits.share(first, 50) as one, credits.share(second, 50) as other:
        other.note(used=80, waiting=1_000)
        assert credits.of(one) == 50
        one.note(used=50, waiting=1)
        assert credits.of(one) == 50


def test_what_others_leave_unused_goes_to_those_with_more_to_arm_by_what_they_hold(credits: Credits) -> None:
    with ExitStack() as opened:
        small, large, idle, busy = (opened.enter_context(credits.share(one, 25)) for one in slices(4))
        small.note(used=25, waiting=10)
        large.note(used=25, waiting=30)
        idle.note(used=5, waiting=0)
        busy.note(used=25, waiting=0)
        assert [credits.of(one) for one in (small, large, idle, busy)] == [30, 40, 25, 25]


def test_a_slice_that_has_ended_leaves_all_it_had_to_its_minute(credits: Credits) -> None:
    first, second = slices(2)
    with credits.share(first, 50) as one:
        one.note(used=50, waiting=9)
        with credits.share(second, 50) as other:
            other.note(used=50, waiting=0)
            assert credits.of(one) == 50
        assert credits.of(one) == 100


def test_minutes_do_not_share(credits: Credits) -> None:
    (here,), (there,) = slices(1), slices(1, MINUTE + 1)
    with credits.share(here, 50) as one, credits.share(there, 50):
        one.note(used=50, waiting=9)
        assert credits.of(one) == 50


def test_a_second_trigger_on_a_slice_adds_nothing_to_the_whole(credits: Credits) -> None:
    """The second trigger of a slice ends at its first turn; the first goes on."""
    first, second = slices(2)
    with credits.share(second, 50) as one:
        one.note(used=50, waiting=9)
        with credits.share(first, 50) as older:
            with credits.share(first, 50):
                assert credits.of(one) == 100
            older.note(used=50, waiting=0)
            assert credits.of(one) == 50
        assert credits.of(one) == 100


def test_a_slice_opened_again_is_not_counted_for_what_it_had_before(credits: Credits) -> None:
    first, second = slices(2)
    with credits.share(second, 30) as one:
        one.note(used=30, waiting=9)
        for _ in range(5):
            with credits.share(first, 10) as again:
                again.note(used=10, waiting=0)
                assert credits.of(one) == 30


def test_a_minute_that_has_ended_is_forgotten(credits: Credits) -> None:
    with ExitStack() as opened:
        for slice_ in slices(3):
            opened.enter_context(credits.share(slice_, 30))
    (only,) = slices(1)
    with credits.share(only, 30) as one:
        one.note(used=30, waiting=9)
        assert credits.of(one) == 30


@given(
    st.lists(st.tuples(st.integers(1, 100), st.integers(0, 100), st.integers(0, 50)), min_size=1, max_size=8),
    st.integers(1, 300),
)
def test_no_more_is_shared_out_than_there_is_beside_what_others_hold(
    notes: list[tuple[int, int, int]], whole: int
) -> None:
    """What a slice has of its own it keeps, even where the scheduler gave out more than the whole."""
    credits = Credits(whole)
    with ExitStack() as opened:
        shares = [
            opened.enter_context(credits.share(slice_, own))
            for slice_, (own, _, _) in zip(slices(len(notes)), notes, strict=True)
        ]
        for share, (_, used, waiting) in zip(shares, notes, strict=True):
            share.note(used, waiting)
        given_out = {id(share): credits.of(share) for share in shares}
        assert all(given_out[id(share)] >= share.own for share in shares)
        hungry = [share for share in shares if share.waiting]
        held = sum(share.used for share in shares if not share.waiting)
        own = sum(share.own for share in hungry)
        most = max(own, min(whole, sum(share.own for share in shares)) - held)
        assert sum(given_out[id(share)] for share in hungry) <= most
