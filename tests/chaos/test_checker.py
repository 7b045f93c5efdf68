"""The checker itself: a checker that overlooks something would make every row worthless."""

import random
from dataclasses import replace

from tests.chaos.checker import judge
from tests.chaos.load import Shape, Window, cohorts, moment_of_one_shot, moments_of
from tests.chaos.proxy import MessageDoubler
from tests.servers.nginx import ArrivedCall
from wangtimer.core.flow.firing import Member

WINDOW = Window(10_000, 20_000)
PROMISED = {(1, 10_000), (1, 11_000), (2, 12_345)}
CALLS = [ArrivedCall(timer_id, at, 1, at + 3) for timer_id, at in sorted(PROMISED)]


def test_one_call_for_each_promise_is_right() -> None:
    verdict = judge(PROMISED, CALLS, WINDOW)
    assert (verdict.lost, verdict.extra, verdict.early, verdict.repeated) == ((), (), (), 0)
    assert (verdict.others.count, verdict.others.max_ms) == (3, 3)


def test_a_promise_without_a_call_is_lost() -> None:
    assert judge(PROMISED, CALLS[1:], WINDOW).lost == ((1, 10_000),)


def test_a_second_call_of_an_attempt_is_extra() -> None:
    assert judge(PROMISED, [*CALLS, CALLS[0]], WINDOW).extra == (Member(1, 10_000, 1),)


def test_a_second_call_of_what_was_being_sent_is_allowed_once() -> None:
    member = Member(1, 10_000, 1)
    twice = judge(PROMISED, [*CALLS, CALLS[0]], WINDOW, may_repeat=[member])
    assert (twice.extra, twice.repeated) == ((), 1)
    thrice = judge(PROMISED, [*CALLS, CALLS[0], CALLS[0]], WINDOW, may_repeat=[member])
    assert (thrice.extra, thrice.repeated) == ((member,), 1)


def test_what_two_faults_met_while_it_ran_may_be_called_twice_more() -> None:
    member = Member(1, 10_000, 1)
    thrice = judge(PROMISED, [*CALLS, CALLS[0], CALLS[0]], WINDOW, may_repeat=[member, member])
    assert (thrice.extra, thrice.repeated) == ((), 2)


def test_another_attempt_is_no_extra_call() -> None:
    verdict = judge(PROMISED, [*CALLS, replace(CALLS[0], attempt=2)], WINDOW)
    assert (verdict.extra, verdict.retried) == ((), 1)


def test_a_call_nobody_promised_is_extra_unless_its_promise_may_not_have_been_heard() -> None:
    stray = ArrivedCall(9, 12_000, 1, 12_001)
    assert judge(PROMISED, [*CALLS, stray], WINDOW).extra == (Member(9, 12_000, 1),)
    assert judge(PROMISED, [*CALLS, stray], WINDOW, maybe={(9, 12_000)}).extra == ()


def test_a_call_before_its_moment_is_early() -> None:
    early = replace(CALLS[0], arrived_at=9_999)
    assert judge(PROMISED, [early, *CALLS[1:]], WINDOW).early == (early,)


def test_lateness_is_told_apart_for_what_the_fault_touched() -> None:
    late = [replace(CALLS[0], arrived_at=15_000), *CALLS[1:]]
    verdict = judge(PROMISED, late, WINDOW, touched=[Member(1, 10_000, 1)])
    assert (verdict.touched.max_ms, verdict.others.max_ms) == (5_000, 3)


def test_calls_outside_the_window_do_not_count() -> None:
    assert judge(PROMISED, [*CALLS, ArrivedCall(1, 20_000, 1, 20_001)], WINDOW).extra == ()


def test_moments_are_read_in_the_timers_zone() -> None:
    # 16:00 UTC is midnight in Shanghai.
    day = Window(1_795_190_400_000, 1_795_190_400_000 + 86_400_000)
    assert moments_of("0 0 9 * * *", "Asia/Shanghai", day) == [1_795_190_400_000 + 9 * 3_600_000]


def test_the_cohorts_make_the_rate_asked_for() -> None:
    window = Window(0, 60_000)
    made = sum(
        one.count * (len(moments_of(one.cron, one.timezone, window)) if one.cron else 1)
        for one in cohorts(500, window, "http://127.0.0.1/")
    )
    assert abs(made - 500 * 60) < 300


def test_a_load_in_pulses_leaves_pauses_between_them() -> None:
    window = Window(0, 60_000)
    [cohort] = cohorts(500, window, "http://127.0.0.1/", Shape.PULSES)
    ats = {moment_of_one_shot(window, cohort, random.Random(i)) for i in range(1_000)}
    assert cohort.count == 500 * 60
    assert {at // 10_000 for at in ats} == {0, 1, 2, 3, 4, 5}
    assert max(at % 10_000 for at in ats) < 2_000


def test_every_pushed_message_is_doubled_however_the_bytes_are_cut() -> None:
    sent = b"*1\r\n$4\r\nPING\r\n*3\r\n$5\r\nLPUSH\r\n$1\r\nq\r\n$6\r\na\r\nb\r\n\r\n*1\r\n$4\r\nPING\r\n"
    wanted = (
        b"*1\r\n$4\r\nPING\r\n"
        b"*4\r\n$5\r\nLPUSH\r\n$1\r\nq\r\n$6\r\na\r\nb\r\n\r\n$6\r\na\r\nb\r\n\r\n*1\r\n$4\r\nPING\r\n"
    )
    for size in (1, 5, 1_000):
        doubler = MessageDoubler()
        pieces = [doubler.feed(sent[start : start + size]) for start in range(0, len(sent), size)]
        assert b"".join(pieces) == wanted
