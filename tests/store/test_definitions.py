"""Definitions in Redis: an older version never counts, and what is used lives on."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date

import orjson
import pytest
from redis import Redis

from tests.patience import wait_for
from tests.store.definitions import CANCELLED, EVERY_MINUTE, ONCE, RESPREAD, definition
from tests.store.worlds import DEFINITIONS_LIVE_S, HotWorld, redis_hot
from wangtimer.core.schedules.calendars import Calendar, built_in
from wangtimer.core.schedules.schedule import Bounded, Once, Schedule
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.call_options import KeepOutput, Timeouts
from wangtimer.core.timers.timer import UNREAD, Definition, Notify, SecretMarks, TimerStatus
from wangtimer.store import bounds
from wangtimer.store.bounds import kept_by_days
from wangtimer.store.redis import definitions
from wangtimer.store.redis.calendar_days import MOST_OF_APP
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import (
    KEPT_AFTER_S,
    READ_BYTES,
    UNKNOWN_BYTES,
    DefinitionStore,
    definition_text,
)
from wangtimer.store.redis.keys import Keys
from wangtimer.testing.doubles import HandClock

LONG = Notify("http://a", body="x" * 60_000)
LONG_CALENDAR = Calendar("long", days=frozenset(date.fromordinal(730_000 + one) for one in range(4_000)))


@pytest.fixture
def in_redis(redis_url: str) -> Iterator[tuple[HotWorld, Redis]]:
    """The stores on a real Redis, and a client of it."""
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        yield redis_hot(connection, raw), raw


@pytest.mark.parametrize("schedule", [EVERY_MINUTE, ONCE, CANCELLED, RESPREAD])
@pytest.mark.parametrize("status", TimerStatus)
def test_a_definition_is_read_as_it_was_written(
    hot: HotWorld, schedule: Schedule, status: TimerStatus
) -> None:
    written = definition(schedule=schedule, status=status)
    hot.definitions.put([written])
    assert hot.definitions.get([1]).definitions == {1: written}


def test_a_definition_without_headers_and_body_is_read_as_it_was_written(hot: HotWorld) -> None:
    written = definition()._replace(notify=Notify("http://a"), edited_at=0)
    hot.definitions.put([written])
    assert hot.definitions.get([1]).definitions == {1: written}


def test_a_time_out_of_its_own_is_read_as_it_was_written(hot: HotWorld) -> None:
    written = definition()._replace(timeouts=Timeouts(2_000, 300), keep_output=KeepOutput.NEVER)
    hot.definitions.put([written])
    assert hot.definitions.get([1]).definitions == {1: written}


def test_a_sealed_call_is_read_as_it_was_written(hot: HotWorld) -> None:
    sealed = Notify("http://a?key=***", headers=(("Cookie", "***"),), sealed="1.k1.AAAA")
    written = definition()._replace(notify=sealed)
    hot.definitions.put([written])
    assert hot.definitions.get([1]).definitions == {1: written}


def test_marks_of_secrets_are_read_as_they_were_written(hot: HotWorld) -> None:
    marks = SecretMarks(("x-tenant",), query=True, body=True)
    sealed = Notify(
        "http://a?***", headers=(("X-Tenant", "***"),), body="***", marks=marks, sealed="1.k1.AAAA"
    )
    through = Notify("/a?***", "", marks=marks, sealed="1.k1.AAAA", target="warehouse")
    for call in (sealed, through, Notify("http://a", marks=marks)):
        written = definition()._replace(notify=call)
        hot.definitions_elsewhere.put([written])
        assert hot.definitions.get([1]).definitions == {1: written}


def test_only_what_is_set_is_written() -> None:
    fields = orjson.loads(definition_text(definition()).partition(" ")[2])
    assert fields.keys().isdisjoint({"sealed", "target", "marks", "retry", "form", "overlap"})
    assert fields.keys() == definitions.FIELDS_OF_ALL


def test_an_unknown_timer_is_absent(hot: HotWorld) -> None:
    hot.definitions.put([definition(2)])
    assert hot.definitions.get([1, 2, 3]).definitions == {2: definition(2)}
    assert hot.definitions.get([]).definitions == {}


def test_a_newer_version_replaces_an_older_one(hot: HotWorld) -> None:
    hot.definitions.put([definition(version=9)])
    hot.definitions.put([definition(version=10, status=TimerStatus.DISABLED)])
    assert hot.definitions.get([1]).definitions[1].version == 10


def test_an_older_version_never_replaces_a_newer_one(hot: HotWorld) -> None:
    hot.definitions.put([definition(version=10)])
    hot.definitions.put([definition(version=9, status=TimerStatus.DISABLED)])
    assert hot.definitions.get([1]).definitions == {1: definition(version=10)}


def test_of_two_with_one_version_the_later_one_counts(hot: HotWorld) -> None:
    """SQL lost the commit of the first: its next change has that version again, and was refused for hours."""
    hot.definitions.put([definition()])
    hot.definitions.put([definition(status=TimerStatus.DISABLED)])
    assert hot.definitions.get([1]).definitions == {1: definition(status=TimerStatus.DISABLED)}


def test_a_change_made_by_another_process_is_seen_at_once(hot: HotWorld) -> None:
    hot.definitions.put([definition()])
    hot.definitions.get([1])
    changed = definition(version=2, status=TimerStatus.DISABLED)
    hot.definitions_elsewhere.put([changed])
    assert hot.definitions.get([1]).definitions == {1: changed}


def test_memory_does_not_outlive_what_redis_lost(hot: HotWorld) -> None:
    hot.definitions.put([definition(version=2)])
    hot.definitions.get([1])
    hot.lose_all()
    assert hot.definitions.get([1]).definitions == {}
    hot.definitions.put([definition(version=1)])
    assert hot.definitions.get([1]).definitions == {1: definition(version=1)}


def test_many_definitions_are_written_together(hot: HotWorld) -> None:
    hot.definitions.put(definition(timer_id) for timer_id in range(1, 2_502))
    assert len(hot.definitions.get(range(1, 2_502)).definitions) == 2_501
    hot.definitions.put([])


def test_a_definition_lives_on_whenever_it_is_written(hot: HotWorld) -> None:
    hot.definitions.put([definition(version=2)])
    for version in (3, 1):
        hot.age_definitions(DEFINITIONS_LIVE_S - 60)
        assert hot.definition_lives_s(1) <= 60
        hot.definitions.put([definition(version=version)])
        assert hot.definition_lives_s(1) > DEFINITIONS_LIVE_S - 60
    hot.age_definitions(DEFINITIONS_LIVE_S)
    assert hot.definitions.get([1]).definitions == {}


@pytest.mark.parametrize("ahead_s", [0, 60, 3_600])
def test_a_one_shot_s_definition_ends_a_quarter_of_an_hour_after_its_moment(
    hot: HotWorld, ahead_s: int
) -> None:
    hot.definitions.put([definition(schedule=Once(int(hot.clock.now_ms()) + ahead_s * 1_000))])
    assert 0 <= ahead_s + KEPT_AFTER_S - hot.definition_lives_s(1) <= 2


@pytest.mark.parametrize("last_s", [600, 90_000])
def test_that_of_a_timer_which_ends_soon_ends_with_its_last_moment(hot: HotWorld, last_s: int) -> None:
    last_ms = int(hot.clock.now_ms()) + last_s * 1_000
    hot.definitions.put([definition(schedule=Bounded(EVERY_MINUTE, last_ms=last_ms))])
    assert 0 <= min(last_s + KEPT_AFTER_S, DEFINITIONS_LIVE_S) - hot.definition_lives_s(1) <= 2


@pytest.mark.parametrize("status", [TimerStatus.DISABLED, TimerStatus.DELETED])
def test_that_of_a_timer_which_is_off_only_keeps_older_ones_from_coming_back(
    hot: HotWorld, status: TimerStatus
) -> None:
    hot.definitions.put([definition()])
    hot.definitions.put([definition(version=2, status=status)])
    assert 0 <= KEPT_AFTER_S - hot.definition_lives_s(1) <= 2


def test_that_of_a_moment_far_away_goes_until_it_is_near(hot: HotWorld) -> None:
    far = int(hot.clock.now_ms()) + 86_400_000
    hot.definitions.put([definition(schedule=Once(far))])
    assert 0 <= KEPT_AFTER_S - hot.definition_lives_s(1) <= 2


@pytest.mark.parametrize(("ahead_s", "is_far"), [(DEFINITIONS_LIVE_S - 60, False), (86_400, True)])
def test_so_does_that_of_a_changed_timer_that_recurs(hot: HotWorld, ahead_s: int, is_far: bool) -> None:
    start_ms = int(hot.clock.now_ms()) + ahead_s * 1_000
    hot.definitions.put([definition(schedule=Bounded(EVERY_MINUTE, start_ms=start_ms))], may_be_far=True)
    assert 0 <= (KEPT_AFTER_S if is_far else DEFINITIONS_LIVE_S) - hot.definition_lives_s(1) <= 2


@pytest.mark.parametrize("excluded", [LONG_CALENDAR, built_in()["cn-off-days"]])
def test_a_definition_with_excluded_days_is_read_as_it_was_written(hot: HotWorld, excluded: Calendar) -> None:
    written = definition(schedule=Bounded(EVERY_MINUTE, excluded=excluded))
    hot.definitions.put([written, written._replace(timer_id=2)])
    for store in (hot.definitions, hot.definitions_elsewhere):
        assert store.get([1, 2]).definitions == {1: written, 2: written._replace(timer_id=2)}


def test_days_are_in_redis_once_however_many_timers_name_their_calendar(
    in_redis: tuple[HotWorld, Redis],
) -> None:
    hot, raw = in_redis
    schedule = Bounded(EVERY_MINUTE, excluded=LONG_CALENDAR)
    hot.definitions.put(definition(one, schedule=schedule) for one in range(1, 101))
    assert len(definition_text(definition(schedule=schedule))) < 450
    kept = raw.keys("*:days-*")
    assert len(kept) == 2
    assert all(raw.ttl(one) > DEFINITIONS_LIVE_S for one in kept)
    assert sum(raw.memory_usage(name) for name in raw.keys("*")) < 130_000


def test_however_often_an_app_uploads_redis_keeps_the_days_that_were_told_last(
    in_redis: tuple[HotWorld, Redis],
) -> None:
    hot, raw = in_redis

    def written(number: int, app: str = "shop") -> Definition:
        days = frozenset(date.fromordinal(730_000 + number + one) for one in range(100))
        schedule = Bounded(EVERY_MINUTE, excluded=Calendar("plant", days=days))
        return definition(1 if app == "shop" else 2, number + 1, schedule=schedule)._replace(app=app)

    hot.definitions.put([written(0, "bank")])
    for number in range(MOST_OF_APP + 9):
        hot.clock.sleep(0.001)
        hot.definitions.put([written(number)])
    assert raw.hlen("wt:days-of:shop") == raw.zcard("wt:days-told:shop") == MOST_OF_APP
    elsewhere = hot.definitions_elsewhere
    assert elsewhere.get([1, 2]).definitions == {1: written(number), 2: written(0, "bank")}
    # A definition whose days are gone is absent, so SQL is asked; who then tells it tells its days, too.
    raw.set("wt:def:1", definition_text(written(0)))
    assert hot.definitions.get([1]).definitions == {}
    hot.definitions.put([written(0)])
    assert elsewhere.get([1]).definitions == {1: written(0)}


def test_what_a_process_keeps_of_calendars_is_bounded_by_their_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_DAYS_KEPT", 1_000)
    made: list[int] = []

    @kept_by_days(lambda days, _: days)
    def make(days: int) -> int:
        made.append(days)
        return days

    assert [make(days) for days in (400, 500, 400, 500, 101, 400)] == [400, 500, 400, 500, 101, 400]
    assert made == [400, 500, 101, 400]


def test_a_timer_whose_days_redis_lost_is_absent_until_they_are_told_again(
    in_redis: tuple[HotWorld, Redis],
) -> None:
    hot, raw = in_redis
    written = definition(schedule=Bounded(EVERY_MINUTE, excluded=LONG_CALENDAR))
    hot.definitions.put([written, definition(2)])
    raw.delete(*raw.keys("*:days-*"))
    told = hot.definitions_elsewhere.get([1, 2])
    assert (told.definitions, list(told.sizes)) == ({2: definition(2)}, [1, 2])
    hot.definitions_elsewhere.put([written])
    assert hot.definitions_elsewhere.get([1]).definitions == {1: written}


def test_a_deleted_timer_s_definition_has_no_call_and_no_days() -> None:
    gone = definition(status=TimerStatus.DELETED, schedule=Bounded(EVERY_MINUTE, excluded=LONG_CALENDAR))
    assert gone.stored.schedule == EVERY_MINUTE
    assert len(definition_text(gone.stored)) < 250


def in_waves(redis_url: str, waves: int, number: int) -> list[int]:
    """Write one-shots that are due now, wave after wave once Redis has none left; return the bytes held after each."""
    held: list[int] = []
    with closing(RedisConnection(redis_url)) as connection, closing(Redis.from_url(redis_url)) as raw:
        clock, keys = HandClock(), Keys("wt")
        store = DefinitionStore(connection, keys, clock, DEFINITIONS_LIVE_S, BadTimers())
        for wave in range(waves):
            wait_for(lambda: not raw.dbsize(), 20)
            ids = range(wave * number + 1, (wave + 1) * number + 1)
            store.put(definition(one, schedule=Once(int(clock.now_ms()))) for one in ids)
            held.append(raw.info("memory")["used_memory_dataset"])
    return held


@pytest.mark.test_all
def test_after_ten_waves_of_one_shots_redis_holds_what_it_held_after_one(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(definitions, "KEPT_AFTER_S", 1)
    first, *_, last = in_waves(redis_url, 10, 20_000)
    assert first > 5_000_000
    assert last <= 1.1 * first


def test_with_definitions_comes_up_to_when_redis_was_told(hot: HotWorld) -> None:
    assert hot.definitions.get([1])[:2] == ({}, None)
    hot.definitions.put([definition()])
    hot.definitions.note_told(1_800_000_000_000)
    assert hot.definitions.get([1])[:2] == ({1: definition()}, 1_800_000_000_000)
    assert hot.definitions.get([])[:2] == ({}, 1_800_000_000_000)
    assert hot.definitions_elsewhere.told_until() == 1_800_000_000_000


def test_of_long_definitions_as_many_are_read_together_as_the_bound_allows(hot: HotWorld) -> None:
    hot.definitions.put(definition(timer_id)._replace(notify=LONG) for timer_id in range(1, 41))
    told = hot.definitions.get_first(range(1, 41))
    assert 10 <= len(told.sizes) == len(told.definitions) <= READ_BYTES // len(LONG.body)
    assert list(told.sizes) == list(range(1, len(told.sizes) + 1))
    assert min(told.sizes.values()) >= len(LONG.body)
    assert len(hot.definitions.get(range(1, 41)).definitions) == 40


def test_a_definition_longer_than_the_bound_is_read_alone(hot: HotWorld) -> None:
    longest = Notify("http://a", body="x" * (READ_BYTES + 1))
    hot.definitions.put(definition(timer_id)._replace(notify=longest) for timer_id in (1, 2))
    told = hot.definitions.get_first([1, 2])
    assert list(told.definitions) == list(told.sizes) == [1]


def test_a_chunk_s_definitions_are_read_by_a_dozen_commands(in_redis: tuple[HotWorld, Redis]) -> None:
    hot, raw = in_redis
    hot.definitions.put(definition(one) for one in range(1, 501))
    raw.config_resetstat()
    assert len(hot.definitions.get_first(range(1, 501)).definitions) == 500
    stats = raw.info("commandstats")
    calls = {name: one["calls"] for name, one in stats.items() if not name.startswith("cmdstat_config")}
    # Those that any connection makes are not among them.
    own = {name: calls.get(f"cmdstat_{name}", 0) for name in ("get", "mget", "hget", "evalsha")}
    assert own == {"get": 1, "mget": 10, "hget": 1, "evalsha": 1}, calls


def test_a_timer_that_redis_does_not_know_is_allowed_for(hot: HotWorld) -> None:
    hot.definitions.put([definition(2)])
    assert hot.definitions.get_first([1, 2]).sizes[1] == UNKNOWN_BYTES


def test_a_definition_that_was_read_without_its_call_is_not_written(hot: HotWorld) -> None:
    hot.definitions.put([definition()._replace(notify=UNREAD), definition(2)])
    assert hot.definitions.get([1, 2]).definitions == {2: definition(2)}


def test_since_when_redis_knew_that_a_timer_is_off_is_kept_as_first_noted(hot: HotWorld) -> None:
    hot.definitions.note_off({7: 100, 8: 200}, 300)
    hot.definitions.note_off({7: 100}, 400)
    assert hot.definitions.known_off({7: 100, 8: 201, 9: 0}) == {7: 300}
    assert hot.definitions.known_off({}) == {}
