import random
import time
from threading import Thread

from tests.callback.calls import ClockByHand
from tests.callback.target import wait_until


def test_nothing_is_sent_before_its_moment(new_engine, target, outcomes) -> None:
    clock = ClockByHand(now_ms=999.9)
    engine = new_engine(clock)
    engine.submit([outcomes.call(target.url + "second", 2000), outcomes.call(target.url + "first", 1000)])
    wait_until(lambda: engine.counts.waiting == 2)
    clock.at_ms = 1000
    outcomes.wait(1)
    assert [received.path for received in target.requests] == ["/first"]
    clock.at_ms = 1999.999
    outcomes_of_a_past_call = outcomes.call(target.url + "third", 1500)
    engine.submit([outcomes_of_a_past_call])
    outcomes.wait(2)
    assert [received.path for received in target.requests] == ["/first", "/third"]
    clock.at_ms = 2000
    outcomes.wait(3)


def test_no_call_of_many_is_early_and_each_is_sent_once(engine, target, outcomes) -> None:
    now_ms = time.time() * 1000
    moments = [now_ms + random.uniform(0, 400) for _ in range(400)]
    engine.submit(outcomes.call(f"{target.url}{number}", due) for number, due in enumerate(moments))
    replies = outcomes.wait(400)
    assert all(reply.succeeded for reply in replies)
    assert all(reply.sent_at_ms >= call.due_at_ms for call, reply in outcomes.replies)
    assert sorted(int(received.path[1:]) for received in target.requests) == list(range(400))


def test_calls_go_out_in_order_of_their_moments(new_engine, target, outcomes) -> None:
    clock = ClockByHand(now_ms=0)
    engine = new_engine(clock, connections_per_host=1)
    engine.submit(outcomes.call(f"{target.url}{due}", due) for due in (30, 10, 50, 20, 40))
    wait_until(lambda: engine.counts.waiting == 5)
    clock.at_ms = 100
    outcomes.wait(5)
    assert [received.path for received in target.requests] == ["/10", "/20", "/30", "/40", "/50"]


def test_a_call_for_an_earlier_moment_wakes_an_engine_that_rests(engine, target, outcomes) -> None:
    engine.submit([outcomes.call(target.url + "later", time.time() * 1000 + 30_000)])
    wait_until(lambda: not len(engine._inbox))
    engine.submit([outcomes.call(target.url + "now")])
    outcomes.wait(1)
    assert [received.path for received in target.requests] == ["/now"]


def test_many_threads_submit_and_every_call_ends_once(engine, target, outcomes) -> None:
    def submit(first: int) -> None:
        for number in range(first, first + 50):
            engine.submit([outcomes.call(f"{target.url}{number}", time.time() * 1000 + number % 7)])

    threads = [Thread(target=submit, args=(50 * index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(reply.succeeded for reply in outcomes.wait(400))
    # On a busy machine some find no room, as others still open their connections.
    answered = sorted(int(call.request.url.rpartition("/")[2]) for call, _ in outcomes.replies)
    assert sorted(int(received.path[1:]) for received in target.requests) == answered
    assert len(set(answered)) == len(answered) == 400 - len(outcomes.without_room)
    assert len(answered) > 200
