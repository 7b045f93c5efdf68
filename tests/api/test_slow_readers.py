"""Clients that take their answers slowly: none holds a thread for longer than the least pace allows."""

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any

import pytest

from tests.api.world import World
from wangtimer.api.http import answer_pace
from wangtimer.api.http.answer_pace import (
    BEHIND_S,
    LEAST_BYTES_PER_S,
    PART_BYTES,
    SOCKET,
    AnswerPace,
    earn_time,
)
from wangtimer.api.http.web_worker import PatientSocket, SlowReader
from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import TooManyAtOnce

EXPORT = "/v1/firings:export"


def held_s(part_bytes: int, bytes_per_s: float, parts: int = 10_000) -> float:
    """Return how long a client of this pace holds an answer of so many parts, s; infinity for all of them."""
    pace, held = AnswerPace(earns=True), 0.0
    for _ in range(parts):
        may_take, takes = pace.may_take_s(part_bytes), part_bytes / bytes_per_s
        held += min(may_take, takes)
        if takes > may_take:
            return held
        pace.took(takes)
    return float("inf")


@pytest.mark.parametrize("part_bytes", [1, 300, PART_BYTES])
def test_a_client_of_an_export_below_the_least_pace_is_cut_off_and_any_other_is_not(part_bytes: int) -> None:
    few = int(100 * LEAST_BYTES_PER_S / part_bytes)
    assert held_s(part_bytes, LEAST_BYTES_PER_S / 10, few) < 1.2 * BEHIND_S
    assert held_s(part_bytes, LEAST_BYTES_PER_S * 1.1, few) == float("inf")


def test_all_of_an_answer_that_is_no_export_must_be_taken_in_time() -> None:
    pace = AnswerPace()
    for _ in range(10):
        assert pace.may_take_s(PART_BYTES) > 0
        pace.took(BEHIND_S / 10)
    assert pace.may_take_s(PART_BYTES) < 0.001


def test_what_buffers_took_at_once_buys_no_time() -> None:
    pace = AnswerPace(earns=True)
    for _ in range(1_000):
        pace.may_take_s(PART_BYTES)
    assert pace.may_take_s(PART_BYTES) == BEHIND_S


def test_a_client_that_takes_nothing_is_cut_off_however_large_a_part_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer_pace, "BEHIND_S", 0.2)
    ours, theirs = socket.socketpair()
    with PatientSocket(fileno=ours.detach()) as patient, theirs:
        patient.await_head(1)
        began = time.monotonic()
        with pytest.raises(SlowReader):
            patient.sendall(b"x" * 10_000_000)
        assert time.monotonic() - began < 5


def test_all_of_an_answer_arrives() -> None:
    ours, theirs = socket.socketpair()
    sent = bytes(range(256)) * 500
    with PatientSocket(fileno=ours.detach()) as patient, theirs, ThreadPoolExecutor() as threads:
        patient.await_head(1)
        sending = threads.submit(patient.sendall, sent)
        found = b""
        while len(found) < len(sent) and (part := theirs.recv(PART_BYTES)):
            found += part
        sending.result()
    assert found == sent


# exports


class Connection:
    """In the place of a client's connection: counts how often its answer may earn time."""

    earned = 0

    def earn_time(self) -> None:
        self.earned += 1


def test_an_answer_earns_time_only_where_it_is_an_export(small_world: World) -> None:
    connection = Connection()

    def asked(path: str) -> Any:
        environ = {SOCKET: connection}
        return small_world.client.get(path, headers={"WangTimer-App": "shop"}, environ_overrides=environ)

    assert [asked(path).status_code for path in ("/v1/firings", "/openapi.json", "/docs")] == [200] * 3
    assert connection.earned == 0
    with asked(EXPORT) as answer:
        assert (answer.status_code, connection.earned) == (200, 1)


def test_a_connection_earns_for_one_answer() -> None:
    ours, theirs = socket.socketpair()
    with PatientSocket(fileno=ours.detach()) as patient, theirs:
        for earns in (True, False):
            patient.await_head(1)
            if earns:
                earn_time({SOCKET: patient})
            patient._pace.took(BEHIND_S)
            assert (patient._pace.may_take_s(PART_BYTES) > 0) == earns


def test_so_many_begin_and_one_more_where_one_has_ended_however_often_it_says_so() -> None:
    exports = AtOnce(2)
    end, _ = exports.begin("shop"), exports.begin("bank")
    with pytest.raises(TooManyAtOnce):
        exports.begin("third")
    end()
    end()
    exports.begin("third")
    with pytest.raises(TooManyAtOnce):
        exports.begin("shop")


def test_one_app_has_half_of_them_but_at_least_one() -> None:
    for most, of_one in ((1, 1), (2, 1), (3, 1), (4, 2)):
        exports = AtOnce(most)
        ends = [exports.begin("shop") for _ in range(of_one)]
        with pytest.raises(TooManyAtOnce):
            exports.begin("shop")
        ends.pop()()
        exports.begin("shop")


@pytest.fixture
def exported(small_world: World) -> Callable[..., Any]:
    """Begins an export of 60 rows, or of another app's none, whose answer is not read yet."""
    small_world.enabled(cron="* * * * * *")
    until = small_world.clock.now + 120_000
    return lambda app="shop": small_world.client.get(
        EXPORT, headers={"WangTimer-App": app}, query_string={"until": until}
    )


def test_a_quarter_of_the_threads_export_at_once_and_others_are_told_to_come_again(
    small_world: World, exported: Callable[..., Any]
) -> None:
    """Of one app half of them, but at least one."""
    quarter = small_world.wiring.settings.http_threads // 4
    begun, may_end = Semaphore(0), Event()

    def export_slowly(app: str) -> int:
        with exported(app) as answer:
            begun.release()
            assert may_end.wait(60)
            return len(answer.data.splitlines())

    with ThreadPoolExecutor(quarter) as threads:
        under_way = [threads.submit(export_slowly, app) for app in ("shop", "bank")]
        assert len(under_way) == quarter
        try:
            assert all(begun.acquire(timeout=60) for _ in range(quarter))
            refused = exported("third")
        finally:
            may_end.set()
        assert [one.result() for one in under_way] == [60, 0]
    assert (refused.status_code, json.loads(refused.text)["code"]) == (503, 50303)
    assert refused.headers["Retry-After"] == "5"
    for _ in range(quarter + 1):
        # Broken off before its first line, as by a client that hangs up.
        exported().close()
    assert exported().status_code == 200


def test_lines_are_sent_together(exported: Callable[[], Any]) -> None:
    parts = [part for part in exported().iter_encoded() if part]
    assert len(parts) == 1
    assert len([json.loads(line) for line in parts[0].splitlines()]) == 60
