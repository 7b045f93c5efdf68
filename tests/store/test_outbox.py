"""The outbox: outcomes kept while SQL is away, forgotten only once they are written, and not a newer one."""

import pytest

from tests.store.members import outcome_of
from tests.store.worlds import HotWorld
from wangtimer.core.alerts.alert_place import NotedAt
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.store.redis.outbox import Outbox

ONE, TWO, RETRY = Member(1, 60_000, 1), Member(2, 60_000, 1), Member(1, 60_000, 2)
ANSWERED = outcome_of(
    ONE,
    first_sent_at=60_003,
    lateness_ms=3,
    cost_ms=12,
    http_status=200,
    output='{"ok": "好 🙂"}\x00\x1b"',
    error="",
)


@pytest.fixture
def outbox(hot: HotWorld) -> Outbox:
    return hot.outbox


def flush(outbox: Outbox, limit: int) -> list[Outcome]:
    """Take everything out, page by page."""
    taken: list[Outcome] = []
    while texts := outbox.page(limit):
        taken += outbox.read(texts).values()
        outbox.forget(texts)
    return taken


def test_an_outcome_is_read_as_it_was_parked(outbox: Outbox) -> None:
    skipped = outcome_of(TWO, FiringStatus.SKIPPED, error="disabled")
    outbox.park([ANSWERED, skipped])
    assert sorted(outbox.read(outbox.page(10)).values(), key=lambda one: one.member) == [ANSWERED, skipped]


def test_what_the_judge_of_alerts_is_to_see_waits_too(outbox: Outbox) -> None:
    at = NotedAt("shop", "pay.example:443", "", 60_003)
    marked = outcome_of(ONE, FiringStatus.FAILED).with_note(at.note)
    outbox.park([marked])
    assert list(map(NotedAt.of, outbox.read(outbox.page(10)).values())) == [at]


def test_the_outbox_tells_which_members_it_holds(outbox: Outbox) -> None:
    outbox.park([ANSWERED])
    assert outbox.holds([TWO, ONE, RETRY]) == {ONE}


def test_each_attempt_has_its_own_outcome(outbox: Outbox) -> None:
    outbox.park([ANSWERED, outcome_of(RETRY, FiringStatus.FAILED)])
    assert outbox.holds([ONE, RETRY]) == {ONE, RETRY}


def test_a_page_that_is_written_is_forgotten(outbox: Outbox) -> None:
    outbox.park([ANSWERED])
    outbox.forget(outbox.page(10))
    assert outbox.holds([ONE]) == set()
    assert outbox.page(10) == {}


def test_an_outcome_parked_anew_meanwhile_is_not_forgotten(outbox: Outbox) -> None:
    outbox.park([ANSWERED])
    texts = outbox.page(10)
    newer = ANSWERED._replace(cost_ms=13)
    outbox.park([newer])
    outbox.forget(texts)
    assert list(outbox.read(outbox.page(10)).values()) == [newer]


def test_forgetting_twice_is_harmless(outbox: Outbox) -> None:
    outbox.park([ANSWERED])
    texts = outbox.page(10)
    outbox.forget(texts)
    outbox.forget(texts)
    outbox.forget({})
    assert outbox.page(10) == {}


def test_parking_and_asking_for_nothing_does_nothing(outbox: Outbox) -> None:
    outbox.park([])
    assert outbox.holds([]) == set()


def test_a_page_is_about_as_long_as_asked(outbox: Outbox) -> None:
    outbox.park([outcome_of(Member(number, 60_000, 1)) for number in range(2_000)])
    assert 100 <= len(outbox.page(100)) <= 200


def test_a_long_outbox_is_emptied_to_the_last_outcome(outbox: Outbox) -> None:
    members = {Member(number, 60_000, 1) for number in range(12_000)}
    outbox.park([outcome_of(member) for member in members])
    assert {outcome.member for outcome in flush(outbox, limit=100)} == members


def test_taking_many_out_page_by_page_passes_over_none_twice(hot: HotWorld) -> None:
    if not isinstance(hot.outbox, Outbox):
        pytest.skip("memory does not scan")
    number, page = 30_000, 200
    hot.outbox.park([outcome_of(Member(timer_id, 1_800_000_000_000, 1)) for timer_id in range(number)])
    scans, scan = [], hot.outbox._scan
    hot.outbox._scan = lambda *where: scans.append(where) or scan(*where)
    while texts := hot.outbox.page(page):
        hot.outbox.forget(texts)
    assert hot.outbox.count() == 0
    assert len(scans) <= 2 * number / page
