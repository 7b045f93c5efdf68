import orjson
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import Slice

MOMENTS = st.integers(0, 7_000_000_000_000)
MAYBE = st.none() | st.integers(0, 100_000)
OUTCOMES = st.builds(
    Outcome,
    st.builds(Member, st.integers(1, 2**63 - 1), MOMENTS, st.integers(1, 20)),
    st.integers(0, 255),
    st.sampled_from(FiringStatus),
    MOMENTS,
    st.none() | MOMENTS,
    MAYBE,
    MAYBE,
    st.none() | st.integers(100, 599),
    st.text(),
    st.text(),
    MAYBE,
    MAYBE,
    MAYBE,
    st.none() | MOMENTS,
    st.lists(st.tuples(st.text(), st.text() | st.lists(MAYBE)), max_size=2).map(tuple),
)


@given(OUTCOMES)
def test_an_outcome_reads_back_from_the_outbox(outcome: Outcome) -> None:
    assert Outcome.from_wire(orjson.loads(orjson.dumps(outcome.to_wire()))) == outcome


def test_an_outcome_takes_no_room_for_what_is_not_said() -> None:
    wire = Outcome(Member(1, 59_000, 2), 3, FiringStatus.SUCCEEDED, due_at=59_000).to_wire()
    assert wire.keys() == {"member", "bucket", "status", "due_at"}


def test_a_note_of_a_feature_that_is_not_known_here_is_kept() -> None:
    outcome = Outcome(Member(1, 59_000, 2), 3, FiringStatus.SUCCEEDED, due_at=59_000)
    noted = outcome.with_note(("made up", {"a": [1, None]})).with_note(("control", "1 stop 0"))
    read = Outcome.from_wire(orjson.loads(orjson.dumps(noted.to_wire())))
    assert read == noted
    assert (read.note("made up"), read.note("control"), read.note("alert")) == (
        {"a": [1, None]},
        "1 stop 0",
        None,
    )


def test_an_outcome_of_a_later_version_is_read_without_what_is_not_known_here() -> None:
    outcome = Outcome(Member(1, 59_000, 2), 3, FiringStatus.FAILED, due_at=59_000, error="HTTP 503")
    assert Outcome.from_wire(outcome.to_wire() | {"said_later": 7}) == outcome


def test_an_outcome_that_still_pends_is_a_retry_due_in_the_slice_of_its_next_moment() -> None:
    outcome = Outcome(Member(1, 59_000, 2), 3, FiringStatus.PENDING, due_at=61_000)
    firing = outcome.retry_firing()
    assert outcome.is_retry
    assert firing.member == Member(1, 59_000, 3)
    assert firing.slice == Slice(1, 3)


def test_a_last_outcome_leaves_the_attempt_as_it_is() -> None:
    for status in (FiringStatus.SUCCEEDED, FiringStatus.FAILED, FiringStatus.SKIPPED):
        outcome = Outcome(Member(1, 59_000, 2), 3, status, due_at=59_000)
        assert not outcome.is_retry
        assert outcome.next_attempt == 2
