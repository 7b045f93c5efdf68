"""What a Prometheus reads."""

from prometheus_client.parser import text_string_to_metric_families

from tests.api.world import World
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome


def figures(world: World) -> dict[str, float]:
    answer = world.client.get("/metrics")
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_nothing_is_silent_when_things_are_calm(world: World) -> None:
    world.enabled(cron="* * * * *", name="calm")
    assert figures(world) == {
        "wangtimer_overdue_firings": 0,
        "wangtimer_oldest_overdue_seconds": 0,
        "wangtimer_parked_outcomes": 0,
        "wangtimer_parked_share": 0,
        "wangtimer_window_seconds": 0,
        "wangtimer_waiting_chunks": 0,
        "wangtimer_bad_timers": 0,
        "wangtimer_bad_timer_notes_total": 0,
    }


def test_firings_a_minute_past_without_an_outcome_are_counted_and_the_oldest_aged(world: World) -> None:
    timer_id = world.enabled(cron="*/10 * * * * *", name="silent")
    records = world.wiring.firings.records(timer_id, 99)
    first = records[-1].firing
    world.clock.now = first.fire_at + 85_000
    assert figures(world)["wangtimer_overdue_firings"] == 3
    assert figures(world)["wangtimer_oldest_overdue_seconds"] == 85
    done = Outcome(first.member, first.bucket, FiringStatus.SUCCEEDED, first.due_at)
    world.wiring.firings.settle([done])
    assert figures(world)["wangtimer_overdue_firings"] == 2


def test_parked_outcomes_are_counted(world: World) -> None:
    world.wiring.outbox.park([Outcome(Member(1, 2, 1), 0, FiringStatus.SUCCEEDED, 2)])
    assert figures(world)["wangtimer_parked_outcomes"] == 1
    assert 0 < figures(world)["wangtimer_parked_share"] < 0.001


def test_how_far_ahead_redis_holds_firings_is_told(world: World) -> None:
    world.wiring.feeder.feed()
    minute_left_s = 60 - world.clock.now_ms() / 1_000 % 60
    assert figures(world)["wangtimer_window_seconds"] == 7_200 + minute_left_s
