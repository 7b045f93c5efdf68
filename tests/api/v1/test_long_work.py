"""What is said of accepted firings over v1: before the answer is on record, by many at once, of what cannot be read."""

from typing import Any

import pytest
from sqlalchemy import select

from tests.api.v1.world import URL, Answered, V1World
from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.alerts.alert_rule import AlertEvent, AlertRule, Destination, DestinationKind
from wangtimer.core.errors import RowsLocked, StoreAway
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.features.long_work import MOST_WAITING, PATIENCE_S, PresentOrders
from wangtimer.store.redis.process_marks import GRACE_MS
from wangtimer.store.sql.firings import insert_missing
from wangtimer.store.sql.tables import alert_notes

ONE = "/v1/firings/{firing_id}"


class Work:
    """A firing of a timer whose target may say later that it is done; `attempt` is on its way."""

    def __init__(self, world: V1World, key: str = "work") -> None:
        self.world, wiring = world, world.wiring
        made = world.made(key=key, enabled=False, target={"url": URL, "ackTimeout": "1h"})
        self.attempt = Member(made.json["id"], world.clock.now - 60_000, 1)
        firing = Firing.planned(self.attempt.timer_id, self.attempt.fire_at, 0)
        wiring.database.write(lambda sql: insert_missing(sql, [firing]))

    def accept(self, ack_by: int | None = None) -> None:
        due_at = self.world.clock.now + 3_600_000 if ack_by is None else ack_by
        sent_at = self.attempt.fire_at
        outcome = Outcome(self.attempt, 0, FiringStatus.ACCEPTED, due_at, sent_at, 0, 9, 202)
        self.world.wiring.firings.settle([outcome])

    def say(self, verb: str, **more: Any) -> Answered:
        token = self.world.wiring.ack_tokens.token(self.attempt)
        place = f"/v1/firings/{self.attempt.firing_id}:{verb}"
        return self.world.send("POST", place, {"token": token, **more}, app=None, rule=f"{ONE}:{verb}")

    @property
    def status(self) -> FiringStatus:
        return self.world.wiring.firings.rows([self.attempt])[self.attempt.key].status


@pytest.fixture(autouse=True)
def _calm(world: V1World) -> None:
    """Let SQL have been there for long."""
    assert world.wiring.long_work.sweep() == 0
    world.clock.now += GRACE_MS


@pytest.fixture
def work(world: V1World) -> Work:
    return Work(world)


def be_away(*_: Any) -> Any:
    raise StoreAway("SQL", "switched off by the test")


@pytest.mark.parametrize("verb", ["ack", "nack", "heartbeat"])
def test_a_word_before_the_answer_is_on_record_waits_a_little_and_is_told_to_come_again(
    work: Work, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    waited: list[float] = []
    clock = work.world.wiring.long_work.clock
    monkeypatch.setattr(clock, "monotonic", lambda: sum(waited))
    monkeypatch.setattr(clock, "sleep", waited.append)
    refused = work.say(verb)
    assert (refused.status, refused.json["code"]) == (503, 50304)
    assert refused.headers["Retry-After"] == "1"
    assert "repeat it in a second" in refused.json["detail"]
    assert sum(waited) == pytest.approx(PATIENCE_S, abs=0.2)
    assert work.status is FiringStatus.PENDING


def test_a_word_that_waits_is_heard_once_the_answer_is_on_record(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work.world.wiring.long_work.clock, "sleep", lambda _seconds: work.accept())
    assert work.say("ack").status == 204
    assert work.status is FiringStatus.SUCCEEDED


def test_no_more_than_a_few_wait_at_once(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    long_work = work.world.wiring.long_work
    monkeypatch.setattr(long_work.clock, "sleep", lambda _seconds: pytest.fail("it waited"))
    for _ in range(MOST_WAITING):
        assert long_work.waiting.acquire(blocking=False)
    assert work.say("ack").status == 503


def test_a_sweep_leaves_what_it_cannot_read_to_others_and_ends_the_rest(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    unread, other = Work(world, "unread"), Work(world, "other")
    for one in (unread, other):
        one.accept(ack_by=world.clock.now - 1)
    definitions = world.wiring.timers.definitions

    def without_one(ids: set[int]) -> Any:
        found = definitions(ids)
        read: Readable[int, Any] = Readable(
            {one: found[one] for one in found if one != unread.attempt.timer_id}
        )
        read.bad[unread.attempt.timer_id] = "of another version"
        return read

    monkeypatch.setattr(world.wiring.timers, "definitions", without_one)
    assert world.wiring.long_work.sweep() == 1
    assert (unread.status, other.status) == (FiringStatus.ACCEPTED, FiringStatus.PENDING)


@pytest.mark.parametrize("noticed", ["the sweeps failed", "it took no writes", "nobody swept"])
def test_what_is_said_within_a_minute_after_an_outage_of_sql_counts_though_its_time_is_over(
    work: Work, monkeypatch: pytest.MonkeyPatch, noticed: str
) -> None:
    clock, accepted, long_work = (
        work.world.clock,
        type(work.world.wiring.accepted_firings),
        work.world.wiring.long_work,
    )
    work.accept(ack_by=clock.now + 5_000)
    with monkeypatch.context() as patched:
        patched.setattr(accepted, "acknowledge", be_away)
        said = work.say("ack")
        assert (said.status, said.headers["Retry-After"]) == (503, "1")
        clock.now += 5_000
        if noticed != "nobody swept":
            patched.setattr(accepted, "overdue" if noticed == "the sweeps failed" else "end", be_away)
            with pytest.raises(StoreAway):
                long_work.sweep()
    clock.now += 85_000 if noticed == "nobody swept" else 1
    assert long_work.sweep() == 0
    clock.now += GRACE_MS - 1
    assert long_work.sweep() == 0
    assert work.say("ack").status == 204


def test_a_minute_after_an_outage_of_sql_firings_end_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_work = work.world.wiring.long_work
    work.accept(ack_by=work.world.clock.now - 1)
    with monkeypatch.context() as patched:
        patched.setattr(type(work.world.wiring.accepted_firings), "overdue", be_away)
        with pytest.raises(StoreAway):
            long_work.sweep()
    ended = []
    for _ in range(13):
        ended.append(long_work.sweep())
        work.world.clock.now += 5_000
    assert ended == [0] * 12 + [1]


def test_a_loss_of_redis_keeps_no_firing_from_ending(work: Work) -> None:
    work.accept(ack_by=work.world.clock.now - 1)
    work.world.wiring.redis.command(lambda client: client.flushdb())
    assert work.world.wiring.long_work.sweep() == 1


def test_a_page_that_sql_cannot_end_holds_up_none_behind_it(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, other = Work(world, "first"), Work(world, "other")
    for number, one in enumerate((first, other)):
        one.accept(ack_by=world.clock.now - 9 + number)
    end = type(world.wiring.accepted_firings).end

    def be_away_for_first(self: Any, outcomes: Any) -> Any:
        if outcomes[0][0].member == first.attempt:
            raise RowsLocked("its row is held")
        return end(self, outcomes)

    monkeypatch.setattr("wangtimer.features.long_work.PAGE", 1)
    with monkeypatch.context() as patched:
        patched.setattr(type(world.wiring.accepted_firings), "end", be_away_for_first)
        with pytest.raises(StoreAway):
            world.wiring.long_work.sweep()
        assert world.wiring.long_work.sweep() == 1
        assert (first.status, other.status) == (FiringStatus.ACCEPTED, FiringStatus.PENDING)
    assert world.wiring.long_work.sweep() == 1
    assert first.status is FiringStatus.PENDING


@pytest.mark.parametrize("verb", ["nack", "heartbeat"])
def test_a_word_of_a_timer_that_cannot_be_read_here_is_to_be_said_again(
    work: Work, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    work.accept()
    bad: Readable[int, Any] = Readable(bad={work.attempt.timer_id: "of another version"})
    monkeypatch.setattr(work.world.wiring.timers, "definitions", lambda _ids: bad)
    refused = work.say(verb)
    assert (refused.status, refused.headers["Retry-After"]) == (503, "1")
    assert work.status is FiringStatus.ACCEPTED


def test_a_failure_whose_target_cannot_be_read_here_is_to_be_told_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise ValueError("this version does not know it")

    work.accept()
    monkeypatch.setattr(PresentOrders, "of", fails)
    assert work.say("nack").status == 503
    assert work.status is FiringStatus.ACCEPTED


def test_a_target_that_cannot_be_read_holds_up_no_other(
    world: V1World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Work(world, "one"), Work(world, "other")
    for work in (one, other):
        work.accept(ack_by=world.clock.now - 1)
    long_work = world.wiring.long_work
    judge = PresentOrders.of

    def fails_for_one(self: Any, definition: Any) -> Any:
        if definition.timer_id == one.attempt.timer_id:
            raise ValueError("this version does not know it")
        return judge(self, definition)

    monkeypatch.setattr(PresentOrders, "of", fails_for_one)
    assert long_work.sweep() == 1
    assert (one.status, other.status) == (FiringStatus.ACCEPTED, FiringStatus.PENDING)


def test_one_that_its_target_works_on_is_not_cancelled_and_who_asks_reads_what_ends_it(work: Work) -> None:
    work.accept()
    place = f"/v1/firings/{work.attempt.firing_id}:cancel"
    refused = work.world.send("POST", place, {}, rule=f"{ONE}:cancel")
    assert (refused.status, refused.json["code"]) == (409, 40902)
    assert "its :ack or :nack ends it" in refused.json["detail"]


def test_a_purge_deletes_no_firing_whose_target_still_works(work: Work) -> None:
    work.accept()
    firings = work.world.wiring.firings
    assert firings.purge(work.world.clock.now, 100).rows == 0
    assert work.say("ack").status == 204
    assert firings.purge(work.world.clock.now, 100).rows == 1


def test_an_accepted_firing_is_shown_as_documented_wherever_firings_are(work: Work) -> None:
    """Each answer is checked against the document."""
    work.accept()
    world, member = work.world, work.attempt
    (timer,) = world.send("GET", "/v1/timers").json["items"]
    assert timer["lastOutcome"]["status"] == "accepted"
    (firing,) = world.send("GET", "/v1/firings").json["items"]
    assert firing["status"] == "accepted"
    one = world.send("GET", f"/v1/firings/{member.firing_id}", rule=ONE)
    assert [attempt["status"] for attempt in one.json["attempts"]] == ["accepted"]
    assert world.send("GET", "/v1/firings:count").json["accepted"] == 1
    timers = world.get("/api/timer/v1/defs", app="shop").data
    timers += world.get("/api/timer/v1/defsByName", app="shop", name="work", pageIndex=1, pageSize=9).data
    assert [one["lastOutcome"]["statusName"] for one in timers] == ["accepted", "accepted"]
    found = world.get("/api/task/v1/records", app="shop", id=member.timer_id).data
    assert [(one["status"], one["statusName"]) for one in found] == [(1, "accepted")]


def test_work_that_is_done_is_noted_where_its_host_is_in_trouble(world: V1World) -> None:
    """What was only accepted says nothing of its host; the word that it is done does, and costs nothing without it."""
    wiring, place = world.wiring, AlertPlace("shop", "target.example:8080", "")
    destination = Destination(DestinationKind.WEBHOOK, "http://127.0.0.1:9/alerts")
    rule = AlertRule("shop", "ops", frozenset({AlertEvent.FAILED_FOR_GOOD}), destination)
    wiring.alert_rules.put("shop", "ops", lambda _held: rule, world.clock.now)
    quiet, failing, done = (Work(world, key) for key in ("quiet", "failing", "done"))
    quiet.accept()
    assert quiet.say("ack").status == 204
    troubles = wiring.alert_judge.troubles
    assert troubles.next_app(None) is None
    for work in (failing, done):
        work.accept()
    assert failing.say("nack", final=True).status == 204
    wiring.alert_judge.run()
    assert wiring.alert_rules.alerted().troubled == {"shop": frozenset({place.text})}
    world.clock.now += 10_000
    assert done.say("ack").status == 204
    assert troubles.next_app(None) == "shop"


def test_what_is_said_to_have_failed_while_redis_is_away_is_noted_for_alerts(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiring = work.world.wiring
    told = AlertRule("shop", "ops", frozenset([AlertEvent.FIRST_FAILURE]), Destination(DestinationKind.MAIL))
    wiring.alert_rules.put(told.app, told.name, lambda _held: told, work.world.clock.now)
    work.accept()
    monkeypatch.setattr(type(wiring.replica_texts), "read", be_away)
    assert work.say("nack").status == 204
    query = select(alert_notes.c.app)
    assert wiring.database.read(lambda sql: sql.execute(query).scalars().all()) == [told.app]
