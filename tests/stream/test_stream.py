"""Consumers connected to real stream processes, on Redis and MariaDB.

What docs/how-to/consumers-behind-a-firewall.md shows is tried here.
"""

import signal
import socket
import threading
import time
from urllib.parse import urljoin

import pytest
import requests

from tests.patience import wait_for
from tests.stream.ground import SOON_S, Ground, stays_so
from wangtimer.core.flow.firing import Firing, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.store.sql.firings import insert_missing

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]


def test_a_firing_comes_at_once_with_its_headers_and_its_ack_is_its_outcome(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process)
    put_at = time.time()
    (member,) = ground.give(body=b'{"order":7}')
    assert consumer.has(1)
    assert time.time() - put_at < 2
    (event,) = consumer.events
    assert (event["id"], event["attempt"], event["body"]) == (member.firing_id, 1, '{"order":7}')
    assert event["headers"]["X-WangTimer-Ack-Token"] == ground.wiring.ack_tokens.token(member)
    answer = ground.say(process, "ack", member)
    assert (answer.status_code, answer.json()) == (200, {"items": [{"id": member.firing_id}]})
    assert ground.status(member) is FiringStatus.SUCCEEDED
    assert ground.counted_bytes() == {}


def test_a_proxy_is_told_to_keep_no_event_back(ground: Ground) -> None:
    process = ground.start()
    url, headers = (
        f"{process.url}/v1/consumers/work/events",
        {"Authorization": f"Bearer {ground.keys['shop']}"},
    )
    with requests.get(url, headers=headers, stream=True, timeout=10) as answer:
        assert (answer.status_code, answer.headers["X-Accel-Buffering"]) == (200, "no")


def test_what_is_no_text_comes_in_base64(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process)
    ground.give(body=b"\xff\x00")
    assert consumer.has(1)
    assert consumer.events[0]["bodyBase64"] == "/wA="


def test_a_consumer_has_no_more_than_its_window_and_an_ack_or_a_nack_makes_room(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process, window=2)
    members = ground.give(5)
    assert consumer.has(2)
    assert stays_so(lambda: len(consumer.events) == 2, 2)
    assert ground.waiting() == 3
    ground.say(process, "ack", members[0])
    assert consumer.has(3)
    ground.say(process, "nack", members[1], error="no paper")
    assert consumer.has(4)
    assert consumer.ids == [member.firing_id for member in members[:4]]
    assert ground.status(members[1]) is FiringStatus.FAILED  # its timer is not there: nobody says how often


def test_the_consumers_of_a_group_take_turns(ground: Ground) -> None:
    process = ground.start()
    consumers = [ground.connect(process) for _ in range(3)]
    members = ground.give(9)
    assert wait_for(lambda: sum(len(one.events) for one in consumers) == 9, SOON_S)
    assert [len(one.events) for one in consumers] == [3, 3, 3]
    assert {one for consumer in consumers for one in consumer.ids} == {one.firing_id for one in members}


def test_what_a_consumer_leaves_comes_to_another_at_once_and_what_is_acknowledged_does_not(
    ground: Ground,
) -> None:
    process = ground.start()
    first = ground.connect(process)
    members = ground.give(3)
    assert first.has(3)
    ground.say(process, "ack", members[0])
    second = ground.connect(process)
    left_at = time.monotonic()
    first.close()
    assert second.has(2)
    assert time.monotonic() - left_at < 3
    assert second.ids == [member.firing_id for member in members[1:]]
    assert [event["attempt"] for event in second.events] == [1, 1]
    assert stays_so(lambda: len(second.events) == 2, 1)


def test_a_firing_that_each_consumer_dies_of_is_handed_on_five_times_and_then_waits(ground: Ground) -> None:
    process = ground.start()
    (member,) = ground.give()
    for _ in range(6):
        consumer = ground.connect(process)
        assert consumer.has(1)
        consumer.close()
    last = ground.connect(process)
    assert stays_so(lambda: not last.events, 2)
    assert ground.status(member) is FiringStatus.ACCEPTED


def test_entries_whose_time_is_over_are_dropped_not_delivered(ground: Ground) -> None:
    process = ground.start()
    ground.give(3, ack_ms=300)
    time.sleep(0.5)
    (member,) = ground.give()
    consumer = ground.connect(process)
    assert consumer.has(1)
    assert consumer.ids == [member.firing_id]
    assert ground.waiting() == 0


def test_a_firing_whose_time_is_over_makes_room_and_who_acknowledges_nothing_is_sent_away(
    ground: Ground,
) -> None:
    process = ground.start()
    consumer = ground.connect(process, window=1)
    for number in range(1, 4):
        ground.give(ack_ms=1_000)
        assert consumer.has(number)
        time.sleep(1)
    assert wait_for(lambda: not consumer.is_open, SOON_S)
    assert "acknowledged none" in consumer.why_closed


def test_a_heartbeat_prolongs_here_and_in_sql(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process, window=1)
    first, second = ground.give(2, ack_ms=2_000)
    assert consumer.has(1)
    # Its timer is not there, so it keeps what it had.
    answer = ground.say(process, "heartbeat", first)
    assert answer.json()["items"][0]["ackBy"]
    assert ground.status(first) is FiringStatus.ACCEPTED
    assert ground.status(second) is FiringStatus.ACCEPTED


def test_a_word_said_to_another_process_makes_room_here(ground: Ground) -> None:
    here, there = ground.start(), ground.start()
    consumer = ground.connect(here, window=1)
    first, _ = ground.give(2)
    assert consumer.has(1)
    assert ground.say(there, "ack", first).status_code == 200
    assert consumer.has(2)


def test_a_word_that_the_api_takes_makes_room_too(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process, window=1)
    first, _ = ground.give(2)
    assert consumer.has(1)
    ground.wiring.long_work.ack(*first.key, ground.wiring.ack_tokens.token(first))
    assert consumer.has(2)


def test_two_processes_share_a_group_and_nobody_gets_a_firing_twice(ground: Ground) -> None:
    consumers = [ground.connect(ground.start(), window=50) for _ in range(2)]
    members = ground.give(60)
    assert wait_for(lambda: sum(len(one.events) for one in consumers) >= 60, SOON_S)
    came = [one for consumer in consumers for one in consumer.ids]
    assert sorted(came) == sorted(member.firing_id for member in members)


def test_an_entry_that_was_put_twice_is_not_given_to_two_consumers(ground: Ground) -> None:
    process = ground.start()
    consumers = [ground.connect(process) for _ in range(2)]
    (member,) = ground.give()
    ground.put([member])
    assert wait_for(lambda: ground.waiting() == 0 and any(one.events for one in consumers), SOON_S)
    assert stays_so(lambda: sum(len(one.events) for one in consumers) == 1, 1)


def test_what_waits_when_a_process_is_killed_comes_to_consumers_of_another(ground: Ground) -> None:
    killed, other = ground.start(), ground.start()
    ground.connect(killed, window=1)
    members = ground.give(3)
    assert wait_for(lambda: ground.waiting() == 2, SOON_S)
    killed.kill()
    consumer = ground.connect(other)
    assert consumer.has(2)
    assert consumer.ids == [member.firing_id for member in members[1:]]
    # The first is the killed process's consumer's, which may be at work, until its time is over.
    assert ground.status(members[0]) is FiringStatus.ACCEPTED


def test_a_process_that_stops_sends_its_consumers_away_and_leaves_them_what_they_have(ground: Ground) -> None:
    process, other = ground.start(), ground.start()
    first = ground.connect(process)
    (member,) = ground.give()
    assert first.has(1)
    process.stop()
    assert wait_for(lambda: not first.is_open, SOON_S)
    assert "connect again" in first.why_closed
    second = ground.connect(other)
    assert stays_so(lambda: not second.events, 1)
    assert ground.say(other, "ack", member).json() == {"items": [{"id": member.firing_id}]}


def test_the_group_of_another_app_is_another_group(ground: Ground) -> None:
    process = ground.start()
    stranger = ground.connect(process, app="other")
    (member,) = ground.give()
    own = ground.connect(process)
    assert own.has(1)
    assert own.ids == [member.firing_id]
    assert stays_so(lambda: not stranger.events, 1)


def test_a_consumer_whose_key_is_revoked_is_sent_away_within_five_seconds(ground: Ground) -> None:
    process = ground.start()
    consumer = ground.connect(process)
    key_id = ground.keys["shop"].split("_")[1]
    assert stays_so(lambda: consumer.is_open, 2)
    ground.wiring.api_keys.revoke("shop", key_id, int(time.time() * 1_000))
    assert wait_for(lambda: not consumer.is_open, 6)
    assert "revoked" in consumer.why_closed


WRONG = (
    (None, "work/events", 401, 40101),
    ("Bearer wtk_no", "work/events", 401, 40102),
    ("own", "a b/events", 400, 40007),
    ("own", "work/events?window=0", 400, 40007),
    ("own", "work/events?window=1001", 400, 40007),
    ("own", "work/events?windows=1", 400, 40004),
    ("own", "work/nothing", 404, 40402),
)


def test_who_asks_wrongly_is_told_what_is_wrong(ground: Ground) -> None:
    process = ground.start()
    for header, path, status, code in WRONG:
        said = f"Bearer {ground.keys['shop']}" if header == "own" else header
        headers = {} if said is None else {"Authorization": said}
        answer = requests.get(f"{process.url}/v1/consumers/{path}", headers=headers, timeout=10)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    url = f"{process.url}/v1/consumers/work:ack"
    answer = requests.post(
        url, json={}, headers={"Authorization": f"Bearer {ground.keys['shop']}"}, timeout=10
    )
    assert (answer.status_code, answer.json()["code"]) == (400, 40007), answer.text


def test_an_error_links_to_a_page_that_explains_its_code_at_the_same_address(ground: Ground) -> None:
    process = ground.start()
    refused = requests.get(f"{process.url}/v1/consumers/work/events", timeout=10)
    page, _, anchor = urljoin(refused.url, refused.json()["type"]).partition("#")
    assert anchor == str(refused.json()["code"])
    shown = requests.get(page, timeout=10)
    assert (shown.status_code, f'id="{anchor}"' in shown.text) == (200, True)
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]


def test_a_wrong_token_of_many_costs_no_other_word(ground: Ground) -> None:
    process = ground.start()
    good, bad = ground.give(2)
    words = [
        {"id": bad.firing_id, "token": ground.wiring.ack_tokens.token(good)},
        {"id": good.firing_id, "token": ground.wiring.ack_tokens.token(good)},
    ]
    answer = requests.post(
        f"{process.url}/v1/consumers/work:ack",
        json={"firings": words},
        headers={"Authorization": f"Bearer {ground.keys['shop']}"},
        timeout=20,
    )
    first, second = answer.json()["items"]
    assert first["problem"]["status"] in (403, 404)
    assert second == {"id": good.firing_id}
    assert [ground.status(one) for one in (bad, good)] == [FiringStatus.ACCEPTED, FiringStatus.SUCCEEDED]


def test_a_word_that_comes_before_the_outcome_is_on_record_waits_for_it(ground: Ground) -> None:
    process = ground.start()
    member = Member(900_000_000_999_999, int(time.time() * 1_000), 1)
    row = Firing.planned(member.timer_id, member.fire_at, 0)
    ground.wiring.database.write(lambda sql: insert_missing(sql, [row]))

    def settle() -> None:
        time.sleep(0.5)
        now = int(time.time() * 1_000)
        ground.wiring.firings.settle(
            [Outcome(member, 0, FiringStatus.ACCEPTED, now + 60_000, now, 0, 1, None)]
        )

    thread = threading.Thread(target=settle)
    thread.start()
    assert ground.say(process, "ack", member).json() == {"items": [{"id": member.firing_id}]}
    thread.join()
    assert ground.status(member) is FiringStatus.SUCCEEDED


def test_there_are_no_more_consumers_than_a_process_and_an_app_may_have(ground: Ground) -> None:
    process = ground.start(stream_connections=3, stream_connections_per_app=2)
    for _ in range(2):
        ground.connect(process)
    url = f"{process.url}/v1/consumers/work/events"

    def refused(app: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {ground.keys[app]}"}
        return requests.get(url, headers=headers, timeout=10)

    answer = refused("shop")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "as many consumers connected" in answer.json()["detail"]
    ground.connect(process, app="other")
    assert refused("other").status_code == 503


def test_who_reads_nothing_is_cut_off_and_others_get_what_it_had(ground: Ground) -> None:
    process = ground.start(stream_slow_s=1)
    host, port = process.url.removeprefix("http://").split(":")
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect((host, int(port)))
        deaf.sendall(
            f"GET /v1/consumers/work/events?window=100 HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {ground.keys['shop']}\r\n\r\n".encode()
        )
        assert deaf.recv(100)
        members = ground.give(40, body=b"x" * 60_000)
        assert wait_for(lambda: ground.waiting() == 0, SOON_S)
        reader = ground.connect(process, window=100)
        assert reader.has(40)
        assert set(reader.ids) == {member.firing_id for member in members}


def test_the_bytes_that_consumers_of_a_process_hold_are_bounded(ground: Ground) -> None:
    process = ground.start(stream_held_mb=2)
    consumer = ground.connect(process, window=1_000)
    members = ground.give(60, body=b"x" * 60_000)
    assert consumer.has(17)
    # An app has half of it, and entries are taken by the megabyte.
    assert stays_so(lambda: len(consumer.events) < 40, 2)
    for member in members:
        if member.firing_id in consumer.ids:
            ground.say(process, "ack", member)
    assert consumer.has(34)


def test_while_redis_is_away_consumers_stay_and_go_on_with_it_back(
    ground: Ground, redis_server: object
) -> None:
    process = ground.start()
    consumer = ground.connect(process)
    server = redis_server.process  # type: ignore[attr-defined]
    server.freeze()
    time.sleep(4)
    server.thaw()
    (member,) = ground.give()
    assert consumer.has(1)
    assert consumer.is_open
    assert ground.say(process, "ack", member).status_code == 200


def test_a_group_is_told_of_as_long_as_a_consumer_of_it_is_connected(ground: Ground) -> None:
    process = ground.start()
    group, seen = ConsumerGroup("shop", "work"), ground.wiring.consumers_seen
    assert not seen.is_connected(group)
    ground.connect(process)
    assert wait_for(lambda: seen.is_connected(group), 5)
    assert not seen.is_connected(ConsumerGroup("other", "work"))
    process._process.send_signal(signal.SIGKILL)  # type: ignore[union-attr]
    assert wait_for(lambda: not seen.is_connected(group), 15)
