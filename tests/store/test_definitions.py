"""Definitions in Redis: an older version never counts, and what is used lives on."""

import orjson
import pytest

from tests.store.definitions import CANCELLED, EVERY_MINUTE, ONCE, RESPREAD, definition
from tests.store.worlds import DEFINITIONS_LIVE_S, HotWorld
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.timeouts import Timeouts
from wangtimer.core.timers.timer import UNREAD, Notify, SecretMarks, TimerStatus
from wangtimer.store.redis.definitions import READ_BYTES, UNKNOWN_BYTES, definition_text
from wangtimer.store.sql.timer_rows import notify_text

LONG = Notify("http://a", body="x" * 60_000)


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


def test_a_call_without_marks_is_written_as_an_older_version_writes_it() -> None:
    text = definition_text(definition())
    assert "marks" not in text
    sealed = Notify(
        "http://a", headers=(("X-Tenant", "***"),), marks=SecretMarks(("x-tenant",)), sealed="1.k1.AAAA"
    )
    fields = orjson.loads(definition_text(definition()._replace(notify=sealed)).partition(" ")[2])
    assert (len(fields["notify"]), fields["marks"]) == (5, [["x-tenant"], False, False])


def test_an_older_version_cannot_read_a_masked_call() -> None:
    sealed = Notify("http://a", headers=(("Cookie", "***"),), sealed="1.k1.AAAA")
    text = definition_text(definition()._replace(notify=sealed))
    # It takes four parts, no more, and of a row its `headers`.
    assert len(orjson.loads(text.partition(" ")[2])["notify"]) == 5
    assert "headers" not in orjson.loads(notify_text(sealed))


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
