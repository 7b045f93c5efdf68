"""What is sent again, how often, and what is not."""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import requests

from tests.client.flaky import Told, flaky
from wangtimer.client import (
    BadAnswer,
    Client,
    ClientError,
    Conflict,
    NotFound,
    PreconditionFailed,
    Target,
    Unavailable,
    Unreachable,
    consumer_words,
)
from wangtimer.client.consumer_words import Speaker, Word
from wangtimer.client.errors import Problem, Refused, refused
from wangtimer.client.transport import LONGEST_PAUSE_S, Transport, _sent_at
from wangtimer.stack.ports import free_port

TARGET: Target = {"url": "http://target.example/"}
NEW: Any = {"key": "a", "target": TARGET, "schedule": {"cron": "@daily"}}
PUT: Any = {"target": TARGET, "schedule": {"cron": "@daily"}}


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


def test_it_knows_when_the_service_sent_its_latest_answer(client: Client, told: Told) -> None:
    assert client.answered_at is None
    client.get_timer(7)
    assert abs((client.answered_at or 0) - time.time() * 1_000) < 60_000


def client_of(url: str, pauses: list[float], retries: int = 3) -> Client:
    return Client(url, "shop", timeout=5, retries=retries, sleep=pauses.append)


def problem(code: int, detail: str, **fields: Any) -> dict[str, Any]:
    """Return what the service says of a fault."""
    made = {
        "type": f"/docs/errors#{code}",
        "title": "",
        "status": code // 100,
        "code": code,
        "detail": detail,
    }
    return {**made, **fields}


SAFE: dict[str, Callable[[Client], Any]] = {
    "read": lambda client: client.get_timer(7),
    "create": lambda client: client.create_timer(**NEW),
    "put": lambda client: client.put_timer("key:a", **PUT),
    "patch at a version": lambda client: client.patch_timer(7, version=1, tags=["x"]),
    "enable": lambda client: client.enable_timer(7),
    "disable": lambda client: client.disable_timer(7),
    "delete": lambda client: client.delete_timer(7),
    "replay one": lambda client: client.replay_firing("7-1"),
    "replay these": lambda client: client.replay_firings(ids=["7-1"]),
    "count what would be replayed": lambda client: client.replay_firings(since=1, spread={"dryRun": True}),
    "cancel": lambda client: client.cancel_firing("7-1"),
    "backfill": lambda client: client.backfill_timer(7, since=1, until=2),
    "change these": lambda client: client.batch_disable_timers(ids=[7]),
    "change those of these keys": lambda client: client.batch_disable_timers(keys=["a"]),
    "count what would change": lambda client: client.batch_delete_timers(all=True, dry_run=True),
    "preview": lambda client: client.preview_schedule(cron="@daily"),
}
# Safe because of the key that all tries carry.
KEYED: dict[str, Callable[[Client], Any]] = {
    "create": lambda client: client.create_timer(**NEW),
    "create many": lambda client: client.batch_create_timers([NEW]),
    "fire now": lambda client: client.fire_timer(7),
    "change up to a limit": lambda client: client.batch_delete_timers(all=True, limit=10),
    "change these": lambda client: client.batch_enable_timers(keys=["a"]),
    "replay one": lambda client: client.replay_firing("7-1"),
    "replay up to a limit": lambda client: client.replay_firings(since=1),
    "backfill": lambda client: client.backfill_timer(7, since=1, until=2),
}
SAFE |= {f"{name}, keyed": call for name, call in KEYED.items()}
UNSAFE: dict[str, Callable[[Client], Any]] = {
    "patch at any version": lambda client: client.patch_timer(7, tags=["x"]),
    "put so far from now": lambda client: client.put_timer("key:a", target=TARGET, schedule={"delay": "60s"}),
}
# What is good for every one of these calls.
ANSWER: dict[str, Any] = {
    "id": 7,
    "version": 4,
    "timer": {"id": 7},
    "stopped": None,
    "nextMoments": [],
    "matched": 0,
    "done": 0,
    "failed": [],
    "remaining": 0,
    "lastId": None,
    "replayed": 0,
    "planned": 0,
    "nextSince": None,
    "items": [],
}


@pytest.mark.parametrize("name", SAFE)
@pytest.mark.parametrize("fault", [502, 503, 504, "cut"])
def test_what_bears_repeating_is_sent_again(
    told: Told, client: Client, pauses: list[float], name: str, fault: int | str
) -> None:
    told.answer = ANSWER
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


CHANGE = {"matched": 20, "done": 20, "failed": [], "remaining": 0, "lastId": 20, "stopped": []}
REPLAY = {"matched": 20, "replayed": 20, "notReplayed": [], "lastDueAt": "x", "remaining": 0}


def test_rounds_carry_on_after_a_lost_answer_and_say_that_they_did(told: Told, client: Client) -> None:
    told.answers = [CHANGE, REPLAY]
    told.fails = ["cut"]
    assert [one["wasInDoubt"] for one in client.change_timers_in_rounds("disable", all=True)] == [True]
    told.fails = [503]
    assert [one["wasInDoubt"] for one in client.replay_in_rounds(since=1)] == [True]
    assert len(told.came) == 4


@pytest.mark.parametrize("named", ["ids", "keys"])
def test_names_go_in_as_many_rounds_as_the_service_takes_in_one(
    told: Told, client: Client, named: str
) -> None:
    told.answer = CHANGE
    names: Any = {named: [str(one) for one in range(1, 2_502)]}
    rounds = list(client.change_timers_in_rounds("delete", **names))
    assert [len(body[named]) for body in told.bodies] == [1_000, 1_000, 501]
    assert not any(one["wasInDoubt"] for one in rounds)


TIMER: dict[str, Any] = {
    "id": 7,
    "key": "a",
    "enabled": True,
    "schedule": {
        "cron": "@daily",
        "dialect": "unix",
        "timezone": "UTC",
        "endAt": "2030-01-01T00:00:00.000Z",
        "jitter": "1m30s",
    },
    "version": 4,
    "tags": ["b", "a"],
    "target": {"url": TARGET["url"], "method": "POST", "headers": {"X": ["1"]}, "body": ""},
    "misfire": {"policy": "fire_all", "grace": "1m", "catchupWindow": "0s"},
    "deleteAfterFinish": False,
}
CONFLICT = problem(41201, "it is at version 4; read it again")
SCHEDULE: Any = {"cron": "@daily", "endAt": 1_893_456_000_000, "jitter": timedelta(seconds=90)}
STALE: dict[str, Callable[[Client], Any]] = {
    "patch": lambda client: client.patch_timer(7, version=3, schedule=SCHEDULE, tags=["a", "b"]),
    "patch of the target": lambda client: client.patch_timer(
        7, version=3, schedule=SCHEDULE, target={"headers": {"x": ["1"], "Y": None}, "body": None}
    ),
    "put": lambda client: client.put_timer(
        "key:a",
        version=3,
        target={**TARGET, "headers": {"X": "1"}},
        schedule={**SCHEDULE, "endAt": "2030-01-01T01:00:00+01:00", "jitter": "PT1M30S"},
        tags=["a", "b"],
        enabled=True,
    ),
    "enable": lambda client: client.enable_timer("key:a", version=3),
}


@pytest.mark.parametrize("name", STALE)
def test_a_change_whose_answer_was_lost_is_not_taken_for_somebody_elses(
    told: Told, client: Client, name: str
) -> None:
    told.fails, told.statuses = ["cut"], [412]
    told.answers = [CONFLICT, TIMER, {**TIMER, "preview": {}}]
    assert STALE[name](client)["version"] == 4
    assert [header.get("If-Match") for _, _, header in told.came] == ['"3"', '"3"', None, '"4"']


@pytest.mark.parametrize("name", STALE)
@pytest.mark.parametrize(
    "other",
    [
        {"version": 5},
        {"enabled": False, "schedule": {**TIMER["schedule"], "cron": "@hourly"}},
        {"enabled": False, "schedule": {**TIMER["schedule"], "endAt": "2030-01-01T00:00:01.000Z"}},
        {"enabled": False, "schedule": {"at": "2030-01-01T00:00:00.000Z"}},
    ],
)
def test_somebody_elses_change_after_a_lost_answer_is_told(
    told: Told, client: Client, name: str, other: dict[str, Any]
) -> None:
    told.fails, told.statuses = ["cut"], [412]
    told.answers = [CONFLICT, {**TIMER, **other}]
    with pytest.raises(PreconditionFailed) as caught:
        STALE[name](client)
    assert caught.value.was_in_doubt
    assert len(told.came) == 3


@pytest.mark.parametrize(
    "part", [{"headers": {"X": ["2"]}}, {"headers": {"x": ["1"], "y": ["2"]}}, {"body": "b"}]
)
def test_somebody_elses_change_of_the_target_is_told(
    told: Told, client: Client, part: dict[str, Any]
) -> None:
    told.fails, told.statuses = ["cut"], [412]
    told.answers = [CONFLICT, {**TIMER, "target": TIMER["target"] | part}]
    with pytest.raises(PreconditionFailed):
        STALE["patch of the target"](client)


@pytest.mark.parametrize(
    "other",
    [
        {"schedule": {**TIMER["schedule"], "startAt": "2030-01-01T00:00:00.000Z"}},
        {"schedule": {**TIMER["schedule"], "timezone": "Asia/Shanghai"}},
        {"schedule": {**TIMER["schedule"], "dialect": "quartz"}},
        {"misfire": {**TIMER["misfire"], "policy": "skip"}},
        {"misfire": {**TIMER["misfire"], "grace": "1s"}},
        {"misfire": {**TIMER["misfire"], "catchupWindow": "1ms"}},
        {"deleteAfterFinish": True},
        {"retentionDays": 3},
        {"target": {**TIMER["target"], "body": "b"}},
        {"target": {**TIMER["target"], "headers": {"X": ["1"], "Y": ["1"]}}},
    ],
)
def test_a_put_whose_answer_was_lost_did_not_leave_what_it_takes_away(
    told: Told, client: Client, other: dict[str, Any]
) -> None:
    told.fails, told.statuses = ["cut"], [412]
    told.answers = [CONFLICT, {**TIMER, **other}]
    with pytest.raises(PreconditionFailed):
        STALE["put"](client)


def test_an_answer_without_what_belongs_in_it_is_not_wangtimers(told: Told, client: Client) -> None:
    told.answer = {}
    with pytest.raises(BadAnswer, match="/v1/timers/7 answered without id"):
        client.get_timer(7)
    told.answer = {"items": []}
    with pytest.raises(BadAnswer, match="nextCursor"):
        client.list_timers()


def test_fewer_than_no_retries_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="retries"):
        Client("http://127.0.0.1:5000", "shop", retries=-1)


def test_a_length_of_time_may_be_a_timedelta(told: Told, client: Client) -> None:
    client.create_timer(target=TARGET, schedule={"delay": timedelta(minutes=1, microseconds=1)})
    assert told.bodies[0]["schedule"] == {"delay": "1m1ms"}
    with pytest.raises(ValueError, match="below 0"):
        client.create_timer(target=TARGET, schedule={"delay": timedelta(seconds=-1)})


def test_who_got_no_answer_is_told_why_and_whether_it_may_be_done(told: Told, pauses: list[float]) -> None:
    with client_of(told.url, pauses, retries=0) as client:
        told.fails = ["cut", "cut"]
        with pytest.raises(
            Unreachable, match="the connection broke; the request may have been carried out"
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
    told.answers, told.statuses = [problem(50301, "SQL is away; repeat it")] * 3, [503] * 3
    with pytest.raises(
        Unavailable, match=r"SQL is away; repeat it \(50301\); the request may have been carried out"
    ) as caught:
        client.enable_timer(7)
    assert (caught.value.was_in_doubt, len(told.came)) == (True, 4)
    told.fails, told.answers, told.statuses = ["cut"], [{"hello": "world"}], [404]
    with pytest.raises(BadAnswer, match="may have been carried out"):
        client.enable_timer(7)
    told.fails, told.answers = ["cut"], [{}]
    with pytest.raises(BadAnswer, match=r"without id.*may have been carried out"):
        client.enable_timer(7)


@pytest.mark.parametrize("name", KEYED)
def test_one_key_goes_over_all_tries_of_a_call_and_another_the_next_time(
    told: Told, client: Client, name: str
) -> None:
    told.answer, told.fails = ANSWER, ["cut"]
    KEYED[name](client)
    KEYED[name](client)
    first, again, other = (header["Idempotency-Key"] for _, _, header in told.came)
    assert first == again != other


def test_a_key_of_ones_own_is_sent_where_one_is_taken(told: Told, client: Client) -> None:
    told.answer = ANSWER
    client.fire_timer(7, idempotency_key="mine")
    client.enable_timer(7, idempotency_key="mine")
    client.cancel_firing("7-1", idempotency_key="mine")
    client.enable_timer(7)
    assert [header.get("Idempotency-Key") for _, _, header in told.came] == ["mine"] * 3 + [None]
    for key in ("", "a b", "名", "x" * 256):
        with pytest.raises(ValueError, match="is not an Idempotency-Key"):
            client.fire_timer(7, idempotency_key=key)


def test_a_try_that_is_still_under_way_is_waited_for(told: Told, client: Client) -> None:
    under_way = problem(40902, "still under way; repeat it", parameter="Idempotency-Key")
    told.fails, told.answers, told.statuses = ["cut"], [under_way, under_way, ANSWER], [409, 409]
    client.fire_timer(7)
    assert len(told.came) == 4
    told.answers, told.statuses = [under_way] * 4, [409] * 4
    with pytest.raises(Conflict) as caught:
        client.fire_timer(7)
    assert caught.value.was_in_doubt


def test_a_word_that_comes_before_the_answer_is_on_record_is_said_again(
    told: Told, client: Client, pauses: list[float]
) -> None:
    told.answers, told.statuses = [problem(50304, "not on record yet; repeat it in a second"), {}], [503, 204]
    told.header = {"Retry-After": "2"}
    client.ack_firing("7-1", "1.token")
    assert [path for _, path, _ in told.came] == ["/v1/firings/7-1:ack"] * 2
    assert pauses == [2]


def test_a_consumer_says_again_what_is_not_on_record_yet(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer_words, "PAUSE_S", 0)
    not_yet, over = problem(50304, "not on record yet"), problem(40902, "it has its outcome already")
    told.answers = [{"items": [{"id": "7-1", "problem": not_yet}, {"id": "7-2", "problem": over}]}]
    told.answer = {"items": [{"id": "7-1"}]}
    speaker = Speaker(Transport(told.url, 5, retries=0), "/v1/consumers/work", {})
    for name in ("7-1", "7-2"):
        speaker.say(Word("ack", name, "1.token"))
    speaker.start()
    speaker.stop()
    said = [[one["id"] for one in body["firings"]] for body in told.bodies]
    assert said == [["7-1", "7-2"], ["7-1"]]


def test_an_answer_that_was_kept_is_that_of_all_tries(told: Told, client: Client) -> None:
    told.answer, told.fails, told.header = CHANGE, ["cut"], {"Idempotent-Replayed": "true"}
    assert [one["wasInDoubt"] for one in client.change_timers_in_rounds("disable", all=True)] == [False]


def test_a_change_that_meets_its_own_work_leaves_its_key_out(told: Told, client: Client) -> None:
    told.fails, told.statuses = ["cut"], [412]
    told.answers = [CONFLICT, TIMER, {**TIMER, "preview": {}}]
    client.enable_timer(7, version=3, idempotency_key="mine")
    keys = [header.get("Idempotency-Key") for _, _, header in told.came]
    assert keys == ["mine", "mine", None, None]


def test_it_gives_up_after_its_retries_and_says_what_it_met(told: Told, client: Client) -> None:
    told.fails = [503] * 9
    with pytest.raises(BadAnswer, match="answered 503, not as WangTimer does: <html>away") as raised:
        client.get_timer(7)
    assert raised.value.status == 503
    assert len(told.came) == 4


def test_it_waits_as_long_as_the_service_asks(told: Told, client: Client, pauses: list[float]) -> None:
    told.status, told.header = 503, {"Retry-After": "4"}
    told.answer = problem(50301, "SQL is away; repeat it")
    with pytest.raises(Unavailable) as caught:
        client.get_timer(7)
    assert (caught.value.code, caught.value.status) == (50301, 503)
    assert len(pauses) == 3
    assert min(pauses) >= 4


def test_what_took_too_long_is_not_sent_again_at_once(
    told: Told, client: Client, pauses: list[float]
) -> None:
    told.status, told.header = 503, {"Retry-After": "30"}
    told.answer = problem(50305, "SQL ended a statement that took too long; ask for less")
    with pytest.raises(Unavailable) as caught:
        client.get_timer(7)
    assert (caught.value.code, len(told.came), pauses) == (50305, 1, [])
    with pytest.raises(Unavailable) as changed:
        client.fire_timer(7)
    assert changed.value.was_in_doubt


def test_a_delete_whose_first_try_got_no_answer_may_find_nothing_left(told: Told, client: Client) -> None:
    told.answer, told.status = problem(40401, "unknown; look"), 404
    told.fails = ["cut"]
    assert client.delete_timer(7) == {"timer": None, "stopped": None}
    with pytest.raises(NotFound):
        client.delete_timer(7)


def test_a_redirection_is_not_followed_with_the_body_lost(told: Told, client: Client) -> None:
    told.status, told.header, told.answer = 302, {"Location": "/elsewhere"}, {}
    with pytest.raises(BadAnswer, match="302"):
        client.enable_timer(7)
    assert [path for _, path, _ in told.came] == ["/v1/timers/7:enable"]


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
    with pytest.raises(ValueError, match="is not a URL"):
        Client(url, "shop")


@pytest.mark.parametrize("url", ["http://127.0.0.1:5000/v1", "http://127.0.0.1:5000/v1/"])
def test_a_url_with_the_path_of_the_api_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="the URL ends in /v1, which the client adds"):
        Client(url, "shop")


def test_a_path_that_does_not_exist_is_not_taken_for_a_timer_that_does_not() -> None:
    problem: Problem = {
        "type": "",
        "title": "",
        "status": 404,
        "detail": "nothing at this path",
        "code": 40402,
    }
    assert type(refused(problem)) is Refused
    assert type(refused({**problem, "code": 40401})) is NotFound


@pytest.mark.parametrize(("status", "is_in_doubt"), [(500, True), (200, True), (409, False)])
def test_only_a_refusal_says_that_nothing_was_done(
    told: Told, client: Client, status: int, is_in_doubt: bool
) -> None:
    told.answers, told.statuses = [problem(50001, "fault; look")] * 2, [status] * 2
    with pytest.raises(ClientError) as change:
        client.fire_timer(7)
    with pytest.raises(ClientError) as look:
        client.get_timer(7)
    assert (change.value.was_in_doubt, look.value.was_in_doubt) == (is_in_doubt, False)


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.preview_schedule(cron="@daily"),
        lambda client: client.batch_disable_timers(all=True, dry_run=True),
        lambda client: next(client.change_timers_in_rounds("delete", all=True, dry_run=True)),
        lambda client: client.replay_firings(since=1, spread={"dryRun": True}),
        lambda client: client.backfill_timer(7, since=1, until=2, dryRun=True),
    ],
    ids=["preview", "round", "rounds", "replay", "backfill"],
)
@pytest.mark.parametrize("fault", [503, "cut", "incomplete"])
def test_what_changes_nothing_is_never_in_doubt(
    told: Told, client: Client, ask: Callable[[Client], Any], fault: int | str
) -> None:
    told.fails = [] if fault == "incomplete" else [fault] * 4
    with pytest.raises(ClientError) as caught:
        ask(client)
    assert not caught.value.was_in_doubt
    # It is sent again all the same.
    assert len(told.came) == (1 if fault == "incomplete" else 4)


@pytest.mark.parametrize("date", ["Sun Nov 29 12:00:06 2026", "Sun, 29 Nov 2026 12:00:06 -0000"])
def test_the_date_of_an_answer_without_an_offset_is_one_of_utc(date: str, machine_zone) -> None:
    machine_zone("America/New_York")
    response = requests.Response()
    response.headers["Date"] = date
    assert _sent_at(response) == 1_795_953_606_000
