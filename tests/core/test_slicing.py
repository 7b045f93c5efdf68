from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.slicing import MINUTE_MS, BucketRule, Slice

MOMENTS = st.integers(0, 7_000_000_000_000)
BUCKETS = st.integers(0, 255)


@given(MOMENTS, BUCKETS)
def test_a_moment_lies_within_the_minute_of_its_slice(moment: int, bucket: int) -> None:
    slice_ = Slice.at(moment, bucket)
    assert slice_.starts_at <= moment < slice_.ends_at
    assert slice_.ends_at - slice_.starts_at == MINUTE_MS
    assert slice_.bucket == bucket


@given(MOMENTS, BUCKETS)
def test_a_tag_reads_back_as_its_slice(moment: int, bucket: int) -> None:
    slice_ = Slice.at(moment, bucket)
    assert Slice.parse(slice_.tag) == slice_


def test_the_last_fraction_of_a_minute_still_belongs_to_it() -> None:
    assert Slice.at(MINUTE_MS - 0.001, 0) == Slice(0, 0)
    assert Slice.at(MINUTE_MS, 0) == Slice(1, 0)


def test_slices_sort_by_their_minute_first() -> None:
    assert sorted([Slice(2, 0), Slice(1, 5), Slice(1, 1)]) == [Slice(1, 1), Slice(1, 5), Slice(2, 0)]


@given(st.integers(0, 10_000_000), st.integers(1, 20_000), st.integers(1, 256))
def test_a_minute_has_at_least_one_bucket_and_never_more_than_the_most(
    planned: int, share: int, most: int
) -> None:
    assert 1 <= BucketRule(share, most).buckets_for(planned) <= most


def test_a_minute_gets_its_next_bucket_when_each_it_has_is_full() -> None:
    rule = BucketRule(firings_per_bucket=3, most=3)
    assert [rule.buckets_for(planned) for planned in range(12)] == [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]
