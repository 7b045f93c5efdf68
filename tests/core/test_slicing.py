import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.buckets import buckets
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.limits import CallLimits
from wangtimer.core.flow.slicing import LANE_CHARACTERS, MINUTE_MS, BucketRule, SharedLane, Slice
from wangtimer.core.timers.timer import APP_CHARACTERS

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
    assert 1 <= buckets(share, most).buckets_for(planned) <= most


def test_a_minute_gets_its_next_bucket_when_each_it_has_is_full() -> None:
    rule = buckets(3, 3)
    assert [rule.buckets_for(planned) for planned in range(12)] == [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]


def test_the_buckets_of_an_own_queue_are_others_than_all_before() -> None:
    rule = BucketRule(1, 256, {"reports": 2}.get)  # type: ignore[arg-type]
    common = buckets(1, 256)
    assert (rule.first_of("reports"), common.first_of("reports")) == (512, 0)
    assert Slice(7, rule.first_of("reports") + 255).queue == 2
    assert Slice(7, 255).queue == 0
    assert [rule.moved("reports", bucket) for bucket in (3, 256 + 3, 512 + 3)] == [515] * 3
    assert common.moved("any", 256 + 3) == 3


def test_a_host_has_a_lane_for_each_queue_and_an_app_has_one() -> None:
    lane = SharedLane.of_host_limit("shop.test:80").in_queue(3)
    assert (lane.key, lane.queue, lane.shown, lane.name) == (
        "q3:host-limit:shop.test:80",
        3,
        "host-limit:shop.test:80",
        "shop.test:80",
    )
    assert lane.in_queue(0) == SharedLane.of_host_limit("shop.test:80")
    assert SharedLane.of_host_limit("shop.test:80").in_queue(3) == lane
    for of_app in (SharedLane.of_app("q1:x"), SharedLane.of_limit("q1:x")):
        assert (of_app.in_queue(3), of_app.queue, of_app.app, of_app.shown) == (of_app, 0, "q1:x", of_app.key)
    assert lane.app is None


def test_what_is_not_one_apps_has_a_lane_for_each_queue_whatever_it_waits_for() -> None:
    for of_all in (
        SharedLane.of_host_limit("shop.test:80"),
        *map(SharedLane.of_pause, ("all", "host:h:80", "timer:7")),
    ):
        lane = of_all.in_queue(3)
        assert (lane.queue, lane.shown, lane.in_queue(0)) == (3, of_all.key, of_all)
        assert (lane.kind, lane.paused, lane.limited_host, lane.is_of_limit) == (
            of_all.kind,
            of_all.paused,
            of_all.limited_host,
            of_all.is_of_limit,
        )
    for of_app in (SharedLane.of_app_at_host("x", "h:80"), SharedLane.of_pause("app:x")):
        assert (of_app.in_queue(3), of_app.app) == (of_app, "x")


def test_a_lane_of_an_app_at_a_host_names_the_whole_app_however_long_the_host_is() -> None:
    app, host = "a" * APP_CHARACTERS, f"{'h' * 253}:65535"
    lane = SharedLane.of_app_at_host(app, host)
    assert (len(lane.key), lane.app) == (LANE_CHARACTERS, app)
    limits = CallLimits(to_one_host={app: CallLimit(at_once=1)})
    assert [limits.limit_of(one) for one in limits.lanes_of(app, host)] == [CallLimit(at_once=1)]


@pytest.mark.parametrize("part", ["", "/bad", "#pay", "/~1a2b3c4d"])
@pytest.mark.parametrize("host", ["shop.test:80", "::1:8080", "broker:orders"])
def test_a_lane_of_a_way_tells_its_host_its_part_and_its_app(host: str, part: str) -> None:
    lane = SharedLane.of_way("shop", host, part)
    assert (lane.key, lane.host, lane.part, lane.app) == (f"host:{host}{part} shop", host, part, "shop")
    assert (SharedLane.of_app_at_host("shop", host).part, SharedLane.of_host_limit(host).host) == ("", host)
