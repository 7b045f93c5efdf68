from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.stagger import Stagger


@given(st.integers(1, 1_000), st.integers(0, 10_000))
def test_no_second_has_more_than_it_may(per_second: int, number: int) -> None:
    stagger = Stagger(5, per_second)
    assert stagger.due_at(0) == 5
    assert stagger.due_at(number + per_second) == stagger.due_at(number) + 1_000
    assert stagger.due_at(number) <= stagger.due_at(number + 1)
