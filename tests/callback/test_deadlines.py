"""When calls under way are cut off, and what looking for them costs."""

import math
from itertools import count
from random import Random
from sys import setprofile
from types import SimpleNamespace

from wangtimer.callback.deadlines import Deadlines


def connections(number: int) -> list[SimpleNamespace]:
    return [SimpleNamespace(fd=fd, call=None, deadline_at=0.0, looked_at_by=math.inf) for fd in range(number)]


def begin(deadlines: Deadlines, connection: SimpleNamespace, deadline_at: float) -> None:
    connection.call, connection.deadline_at = object(), deadline_at
    deadlines.add(connection)


def cut_off(deadlines: Deadlines, now: float) -> list[int]:
    """Return the numbers of the connections whose call was cut off."""
    numbers = []
    for connection in deadlines.overdue(now):
        connection.call = None
        numbers.append(connection.fd)
    return numbers


def test_a_call_that_hangs_is_looked_at_at_its_own_deadline_only() -> None:
    """Eight hundred hang; each cutting off once went through all of them."""
    deadlines = Deadlines()
    for at, connection in enumerate(connections(800)):
        begin(deadlines, connection, 1.0 + at)
    done = 0

    def note(_frame, event, _arg) -> None:
        nonlocal done
        done += event in ("call", "c_call")

    setprofile(note)
    try:
        ended = [cut_off(deadlines, 1.0 + at) for at in range(20)]
    finally:
        setprofile(None)
    assert ended == [[at] for at in range(20)]
    assert done < 20 * 20


def test_calls_one_after_another_leave_one_entry() -> None:
    deadlines = Deadlines()
    (connection,) = connections(1)
    for at in range(1_000):
        begin(deadlines, connection, 15.0 + at)
    assert len(deadlines._entries) == 1
    assert (cut_off(deadlines, 15.0), deadlines.next_at) == ([], 1_014.0)
    assert cut_off(deadlines, 1_014.0) == [0]
    assert deadlines.next_at == math.inf


def test_closed_connections_do_not_pile_up() -> None:
    """Targets that close after each answer, ten thousand calls before the first deadline."""
    deadlines = Deadlines()
    numbers = count()
    for _ in range(10_000):
        (connection,) = connections(1)
        connection.fd = next(numbers) % 7
        begin(deadlines, connection, 15.0 + connection.fd)
        deadlines.forget(connection)
    assert len(deadlines._entries) <= 65
    assert cut_off(deadlines, 99.0) == []


def test_each_call_is_cut_off_at_its_deadline_whatever_came_before_on_its_connection() -> None:
    for seed in range(200):
        chance = Random(seed)
        deadlines, all_of_them, now = Deadlines(), connections(6), 0.0
        for _ in range(200):
            now += chance.choice((0.0, 0.5, 1.0))
            overdue = {each.fd for each in all_of_them if each.call and each.deadline_at <= now}
            assert set(cut_off(deadlines, now)) == overdue, seed
            number = chance.randrange(6)
            connection = all_of_them[number]
            if chance.random() < 0.2:
                deadlines.forget(connection)
                (connection,) = connections(1)
                connection.fd, all_of_them[number] = number, connection
            begin(deadlines, connection, now + chance.choice((0.5, 1.0, 2.0, 15.0)))
            busy = [each.deadline_at for each in all_of_them if each.call]
            assert deadlines.next_at <= min(busy), seed
