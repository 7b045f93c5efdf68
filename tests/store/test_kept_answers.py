"""Answers are kept with what they tell of, for a day."""

import pytest

from tests.store.definitions import NOTIFY, ONCE
from tests.store.test_timers import NOW
from tests.store.worlds import SqlWorld, real_sql
from wangtimer.core.errors import Conflict
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.timers.timer import NewTimer, Timer
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.kept_answers import (
    KEPT_MS,
    LONGEST_REQUEST_MS,
    Asked,
    KeptAnswer,
    ToKeep,
    keep_answer,
)
from wangtimer.testing.doubles import HandClock
from wangtimer.timers.purger import PAGE, Purger


@pytest.fixture
def real(database: Database) -> SqlWorld:
    return real_sql(database)


def create(real: SqlWorld, name: str, key: str = "k", app: str = "shop", now: int = NOW) -> Timer:
    keep = ToKeep(Asked(app, key, f"hash of {name}"), lambda timer: f"made {timer.id}")
    return real.timers.create(NewTimer(app, name, ONCE, NOTIFY), now, keep)


def test_an_answer_is_kept_with_the_timer_it_tells_of(real: SqlWorld) -> None:
    timer = create(real, "a")
    assert real.answers.find("shop", "k", NOW) == KeptAnswer("hash of a", f"made {timer.id}")


def test_a_key_in_use_lets_no_other_timer_be_made(real: SqlWorld) -> None:
    create(real, "a")
    with pytest.raises(Conflict):
        create(real, "b")
    assert [timer.name for timer in real.timers.page("shop", 0, 9)] == ["a"]


def test_a_create_that_is_refused_keeps_no_answer(real: SqlWorld) -> None:
    create(real, "a", "k")
    with pytest.raises(Conflict):
        create(real, "a", "other")
    assert real.answers.find("shop", "other", NOW) is None


def test_keys_are_each_app_s_own_and_to_the_letter(real: SqlWorld) -> None:
    made = [create(real, "a"), create(real, "a", app="bank"), create(real, "b", "K")]
    assert {
        real.answers.find(app, key, NOW).answer for app, key in (("shop", "k"), ("bank", "k"), ("shop", "K"))
    } == {f"made {timer.id}" for timer in made}


def test_after_a_day_a_key_is_as_good_as_new(real: SqlWorld) -> None:
    create(real, "a")
    assert real.answers.find("shop", "k", NOW + KEPT_MS - 1) is not None
    assert real.answers.find("shop", "k", NOW + KEPT_MS) is None
    later = create(real, "b", now=NOW + KEPT_MS)
    assert real.answers.find("shop", "k", NOW + KEPT_MS) == KeptAnswer("hash of b", f"made {later.id}")


def test_what_is_older_than_a_day_is_purged_page_by_page(database: Database, real: SqlWorld) -> None:
    def keep_many(sql: object) -> None:
        for i in range(PAGE + 5):
            keep_answer(sql, Asked("shop", f"{i}", "x"), "y", NOW + i)

    database.write(keep_many)
    create(real, "fresh", "fresh", now=NOW + KEPT_MS)
    assert [real.answers.purge(NOW + KEPT_MS, 2) for _ in range(2)] == [1, 0]
    clock = HandClock(NOW + KEPT_MS + PAGE + 5)
    Purger(
        real.firings, real.timers, real.answers, real.audit, real.dead_letters, clock, DAY_MS, DAY_MS
    ).purge()
    assert real.answers.purge(NOW + KEPT_MS + PAGE + 5, 9) == 0
    assert real.answers.find("shop", "fresh", clock.now_ms()) is not None


WANTED = Asked("shop", "k", "hash")


def test_a_claim_bears_repeating(real: SqlWorld) -> None:
    """Its commit may have been applied though the connection was lost before it was heard of."""
    assert real.answers.claim(WANTED, "mine", NOW) is None
    assert real.answers.claim(WANTED, "mine", NOW) is None
    held = real.answers.claim(WANTED, "another", NOW)
    assert held is not None
    assert held.is_under_way


def test_whose_claim_was_taken_over_ends_it_no_more(real: SqlWorld) -> None:
    later = NOW + LONGEST_REQUEST_MS
    assert real.answers.claim(WANTED, "slow", NOW) is None
    assert real.answers.claim(WANTED, "next", later) is None
    real.answers.end_claim(WANTED, "slow", None)
    real.answers.end_claim(WANTED, "slow", "late")
    held = real.answers.find("shop", "k", later)
    assert held is not None
    assert held.is_under_way
    real.answers.end_claim(WANTED, "next", "[201]")
    assert real.answers.find("shop", "k", later) == KeptAnswer("hash", "[201]")
