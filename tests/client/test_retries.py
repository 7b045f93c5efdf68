"""What is sent again, how often, and what is not."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.client.flaky import Told, flaky
from wangtimer.client import BadAnswer, Client, ClientError, Conflict, NotFound, Unavailable, Unreachable
from wangtimer.client.transport import LONGEST_PAUSE_S, Transport
from wangtimer.stack.ports import free_port

CALLBACK = {"url": "http://target.example/"}


@pytest.fixture
def told() -> Iterator[Told]:
    with flaky() as told:
        yield told


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(told: Told, pauses: list[float]) -> Iterator[Client]:
    with client_of(told.url, pauses) as client:
        yield client


def client_of(url: str, pauses: list[float], retries: int = 3) -> Client:
    client = Client(url, "shop")
    client._transport = Transport(url, 5, retries, pauses.append)
    return client


SAFE: dict[str, Callable[[Client], Any]] = {
    "read": lambda client: client.get_timer(7),
    "create": lambda client: client.create_timer("a", CALLBACK, cron="@daily"),
    "put": lambda client: client.put_timer("a", CALLBACK, cron="@daily"),
    "edit with a version": lambda client: client.edit_timer(7, version=1, cron="@daily"),
    "enable": lambda client: client.enable_timer(7),
    "disable": lambda client: client.disable_timer(7),
    "delete": lambda client: client.delete_timer(7),
    "replay these": lambda client: client.replay_firings([{"id": 7, "fire_at": 1}]),
    "count what would be replayed": lambda client: client.replay_firings(since=1, dry_run=True),
    "cancel": lambda client: client.cancel_firing(7, 1),
    "backfill": lambda client: client.backfill_firings(7, since=1, until=2),
    "change these": lambda client: client.change_timers("disable", ids=[7]),
    "count what would change": lambda client: client.change_timers("delete", all_timers=True, dry_run=True),
    "preview": lambda client: client.preview_schedule(cron="@daily"),
}
UNSAFE: dict[str, Callable[[Client], Any]] = {
    "edit without a version": lambda client: client.edit_timer(7, cron="@daily"),
    "create many": lambda client: client.create_timers([{"name": "a", "callback": CALLBACK}]),
    "fire now": lambda client: client.fire_now(7),
    "put so far from now": lambda client: client.put_timer("a", CALLBACK, delay_ms=60_000),
    "change up to a limit": lambda client: client.change_timers("delete", all_timers=True, limit=10),
    "replay up to a limit": lambda client: client.replay_firings(since=1),
}


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("fault", [502, 503, 504, "cut"])
def test_what_bears_repeating_is_sent_again(
    told: Told, client: Client, pauses: list[float], name: str, fault: int | str
) -> None:
    told.answer = {"code": 0, "id": 7, "created": True, "data": {"id": 7}}
    told.fails = [fault, fault]
    SAFE[name](client)
    assert len(told.came) == 3
    assert len(pauses) == 2
    assert pauses[0] < pauses[1] * 3 <= LONGEST_PAUSE_S * 4.5


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("fault", [503, "cut"])
def test_what_does_not_is_sent_once(told: Told, client: Client, name: str, fault: int | str) -> None:
    told.fails = [fault]
    with pytest.raises(Unreachable if fault == "cut" else BadAnswer):
        UNSAFE[name](client)
    assert len(told.came) == 1


@pytest.mark.parametrize("name", UNSAFE)
def test_what_never_left_is_sent_again_all_the_same(name: str, pauses: list[float]) -> None:
    with (
        client_of(f"http://127.0.0.1:{free_port()}", pauses) as client,
        pytest.raises(Unreachable, match="127"),
    ):
        UNSAFE[name](client)
    assert len(pauses) == 3


CHANGE = {"matched": 20, "done": 20, "failed": [], "remaining": 0, "lastId": 20}
REPLAY = {"matched": 20, "replayed": 20, "notReplayed": [], "lastDueAtMs": 2, "remaining": 0}


def test_rounds_carry_on_after_a_lost_answer_and_say_that_they_did(told: Told, client: Client) -> None:
    told.answers = [{"code": 0, "data": CHANGE}, {"code": 0, "data": REPLAY}]
    told.fails = ["cut"]
    assert [one["wasInDoubt"] for one in client.change_timers_in_rounds("disable", all_timers=True)] == [True]
    told.fails = [503]
    assert [one["wasInDoubt"] for one in client.replay_in_rounds(since=1)] == [True]
    assert len(told.came) == 4


def test_ids_go_in_as_many_rounds_as_the_service_takes_in_one(told: Told, client: Client) -> None:
    told.answer = {"code": 0, "data": CHANGE}
    rounds = list(client.change_timers_in_rounds("delete", ids=range(1, 2_502)))
    assert [len(body["ids"]) for body in told.bodies] == [1_000, 1_000, 501]
    assert not any(one["wasInDoubt"] for one in rounds)


TIMER = {
    "id": 7,
    "name": "a",
    "cron": "@daily",
    "timezone": "UTC",
    "version": 4,
    "endAt": "2030-01-01T00:00:00.000Z",
    "tags": ["b", "a"],
    "notifyHTTPParam": {"url": CALLBACK["url"], "method": "POST", "header": {"X": ["1"]}, "body": ""},
    "misfire": "fire_all",
    "misfireGraceMs": 60_000,
    "catchupWindowMs": 0,
}
CONFLICT = {"code": 40903, "msg": "version: it is at version 4", "field": "version"}
STALE: dict[str, Callable[[Client], Any]] = {
    "edit": lambda client: client.edit_timer(
        7, version=3, cron="@daily", end_at=1_893_456_000_000, tags=["a", "b"], jitter_ms=None
    ),
    "edit of the call": lambda client: client.edit_timer(
        7,
        version=3,
        cron="@daily",
        end_at=1_893_456_000_000,
        callback={"header": {"x": ["1"], "Y": None}, "body": None},
    ),
    "put": lambda client: client.put_timer(
        "a",
        {**CALLBACK, "header": {"X": "1"}},
        version=3,
        cron="@daily",
        end_at="2030-01-01T01:00:00+01:00",
        tags=["a", "b"],
    )["data"],
}


@pytest.mark.parametrize("name", STALE)
def test_a_change_whose_answer_was_lost_is_not_taken_for_somebody_elses(
    told: Told, client: Client, name: str
) -> None:
    told.fails = ["cut"]
    told.answers = [CONFLICT, {"code": 0, "data": [TIMER]} if name == "put" else {"code": 0, "data": TIMER}]
    told.answers.append({"code": 0, "data": {"nextMoments": [], "words": {}, "warnings": []}})
    told.statuses = [409]
    changed = STALE[name](client)
    assert (changed["version"], changed["words"]) == (4, {})


@pytest.mark.parametrize("name", STALE)
@pytest.mark.parametrize(
    "other", [{"version": 5}, {"cron": "@hourly"}, {"endAt": "2030-01-01T00:00:01.000Z"}]
)
def test_somebody_elses_change_after_a_lost_answer_is_a_conflict(
    told: Told, client: Client, name: str, other: dict[str, Any]
) -> None:
    found = {**TIMER, **other}
    told.fails = ["cut"]
    told.answers = [CONFLICT, {"code": 0, "data": [found] if name == "put" else found}]
    told.statuses = [409]
    with pytest.raises(Conflict) as caught:
        STALE[name](client)
    assert caught.value.was_in_doubt


@pytest.mark.parametrize(
    "part", [{"header": {"X": ["2"]}}, {"header": {"x": ["1"], "y": ["2"]}}, {"body": "b"}]
)
def test_somebody_elses_change_of_the_call_is_a_conflict(
    told: Told, client: Client, part: dict[str, Any]
) -> None:
    call: Any = TIMER["notifyHTTPParam"]
    told.fails, told.statuses = ["cut"], [409]
    told.answers = [CONFLICT, {"code": 0, "data": {**TIMER, "notifyHTTPParam": call | part}}]
    with pytest.raises(Conflict):
        STALE["edit of the call"](client)


@pytest.mark.parametrize(
    "other",
    [
        {"jitterMs": 5},
        {"timezone": "Asia/Shanghai"},
        {"misfire": "skip"},
        {"misfireGraceMs": 1_000},
        {"catchupWindowMs": 1},
        {"cronDialect": "quartz"},
    ],
)
def test_a_put_whose_answer_was_lost_did_not_leave_what_it_takes_away(
    told: Told, client: Client, other: dict[str, Any]
) -> None:
    told.fails, told.statuses = ["cut"], [409]
    told.answers = [CONFLICT, {"code": 0, "data": [{**TIMER, "notifyHTTPParam": CALLBACK, **other}]}]
    with pytest.raises(Conflict):
        client.put_timer("a", CALLBACK, version=3, cron="@daily", end_at=TIMER["endAt"], tags=["a", "b"])


def test_an_answer_without_what_belongs_in_it_is_not_wangtimers(told: Told, client: Client) -> None:
    for answer in ({"code": 0}, {"code": 0, "data": None}, {"code": 0, "data": []}):
        told.answer = answer
        with pytest.raises(BadAnswer, match="/def answered without data"):
            client.get_timer(7)
    with pytest.raises(BadAnswer, match="nextCursor"):
        client.list_timers()


def test_fewer_than_no_retries_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="retries"):
        Client("http://127.0.0.1:5000", "shop", retries=-1)


def test_a_length_of_time_may_be_a_timedelta(told: Told, client: Client) -> None:
    client.create_timer("a", CALLBACK, delay_ms=timedelta(minutes=1, microseconds=1))
    assert told.bodies[0]["delayMs"] == 60_001


def test_who_got_no_answer_is_told_why_and_whether_it_may_be_done(told: Told, pauses: list[float]) -> None:
    with client_of(told.url, pauses, retries=0) as client:
        told.fails = ["cut", "cut"]
        with pytest.raises(
            Unreachable, match="the connection broke; what was asked may have been done"
        ) as cut:
            client.enable_timer(7)
        with pytest.raises(Unreachable, match=r"the connection broke$") as read:
            client.get_timer(7)
    assert (cut.value.was_in_doubt, read.value.was_in_doubt) == (True, False)
    with (
        client_of(f"http://127.0.0.1:{free_port()}", pauses, retries=0) as client,
        pytest.raises(
            Unreachable, match=r"^cannot reach http://127.0.0.1:[0-9]+: connection refused$"
        ) as away,
    ):
        client.enable_timer(7)
    assert not away.value.was_in_doubt


def test_a_refusal_after_a_lost_answer_says_that_it_may_be_done(told: Told, client: Client) -> None:
    told.fails = ["cut"]
    told.answers, told.statuses = [{"code": 50301, "msg": "request: SQL is away"}] * 3, [503] * 3
    with pytest.raises(
        Unavailable, match=r"SQL is away \(50301\); what was asked may have been done"
    ) as caught:
        client.enable_timer(7)
    assert (caught.value.was_in_doubt, len(told.came)) == (True, 4)
    told.fails, told.answers, told.statuses = ["cut"], [{"hello": "world"}], [404]
    with pytest.raises(BadAnswer, match="may have been done"):
        client.enable_timer(7)
    told.fails, told.answers = ["cut"], [{"code": 0, "msg": ""}]
    with pytest.raises(BadAnswer, match=r"without data.*may have been done"):
        client.enable_timer(7)


def test_a_create_carries_one_key_over_all_its_tries_and_another_the_next_time(
    told: Told, client: Client
) -> None:
    told.fails = ["cut"]
    SAFE["create"](client)
    SAFE["create"](client)
    first, again, other = (header["Idempotency-Key"] for _, _, header in told.came)
    assert first == again != other


def test_it_gives_up_after_its_retries_and_says_what_it_met(told: Told, client: Client) -> None:
    told.fails = [503] * 9
    with pytest.raises(BadAnswer, match="answered 503, not as WangTimer does: <html>away"):
        client.get_timer(7)
    assert len(told.came) == 4


def test_it_waits_as_long_as_the_service_asks(told: Told, client: Client, pauses: list[float]) -> None:
    told.status, told.header = 503, {"Retry-After": "4"}
    told.answer = {"code": 50301, "msg": "request: SQL is away", "field": ""}
    with pytest.raises(Unavailable) as caught:
        client.get_timer(7)
    assert (caught.value.code, caught.value.status) == (50301, 503)
    assert len(pauses) == 3
    assert min(pauses) >= 4


def test_a_delete_whose_first_try_got_no_answer_may_find_nothing_left(told: Told, client: Client) -> None:
    told.answer, told.status = {"code": 40401, "msg": "id: unknown", "field": "id"}, 404
    told.fails = ["cut"]
    client.delete_timer(7)
    with pytest.raises(NotFound):
        client.delete_timer(7)


def test_a_redirection_is_not_followed_with_the_body_lost(told: Told, client: Client) -> None:
    told.status, told.header, told.answer = 302, {"Location": "/elsewhere"}, {}
    with pytest.raises(BadAnswer, match="302"):
        client.enable_timer(7)
    assert [path for _, path, _ in told.came] == ["/api/timer/v1/enable"]


def test_a_password_in_the_url_is_in_no_message(told: Told, pauses: list[float]) -> None:
    address = told.url.removeprefix("http://")
    with client_of(f"http://operator:secret@{address}/", pauses, retries=0) as client:
        told.fails = ["cut", 404]
        with pytest.raises(Unreachable) as cut:
            client.get_timer(7)
        with pytest.raises(BadAnswer) as bad:
            client.get_timer(7)
    assert address in str(cut.value)
    assert "secret" not in f"{cut.value}{bad.value}"
    assert told.came[0][2]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("url", ["", "shop.example", "ftp://shop.example", "http://"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL"):
        Client(url, "shop")


@pytest.mark.parametrize(("status", "is_in_doubt"), [(500, True), (200, True), (409, False)])
def test_only_a_refusal_says_that_nothing_was_done(
    told: Told, client: Client, status: int, is_in_doubt: bool
) -> None:
    told.answers, told.statuses = [{"code": 50000, "msg": "fault"}] * 2, [status] * 2
    with pytest.raises(ClientError) as change:
        client.fire_now(7)
    with pytest.raises(ClientError) as look:
        client.get_timer(7)
    assert (change.value.was_in_doubt, look.value.was_in_doubt) == (is_in_doubt, False)
