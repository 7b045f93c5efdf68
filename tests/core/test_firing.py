import json

from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.firing import Chunk, DueMember, Firing, Member
from wangtimer.core.flow.slicing import Slice

IDS = st.integers(1, 2**63 - 1)
MOMENTS = st.integers(0, 7_000_000_000_000)
MEMBERS = st.builds(Member, IDS, MOMENTS, st.integers(1, 20))
SLICES = st.builds(Slice, st.integers(0, 200_000_000), st.integers(0, 255))
CHUNKS = st.builds(Chunk, SLICES, st.lists(st.builds(DueMember, MEMBERS, MOMENTS), max_size=20).map(tuple))


@given(MEMBERS)
def test_a_member_reads_back_from_its_text(member: Member) -> None:
    assert Member.parse(str(member)) == member


@given(MEMBERS, MEMBERS)
def test_two_members_never_share_a_text(one: Member, other: Member) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(CHUNKS)
def test_a_chunk_comes_out_of_its_message_as_it_went_in(chunk: Chunk) -> None:
    assert Chunk.from_wire(*json.loads(json.dumps(chunk.to_wire()))) == chunk


@given(IDS, MOMENTS, st.integers(1, 20), st.integers(1, 20))
def test_all_attempts_of_a_firing_share_its_id(timer_id: int, fire_at: int, one: int, other: int) -> None:
    assert Member(timer_id, fire_at, one).firing_id == Member(timer_id, fire_at, other).firing_id


@given(MEMBERS, MEMBERS)
def test_two_firings_never_share_an_id(one: Member, other: Member) -> None:
    is_same = (one.timer_id, one.fire_at) == (other.timer_id, other.fire_at)
    assert (one.firing_id == other.firing_id) == is_same


def test_a_firing_waits_in_the_minute_it_is_due_in_not_the_one_it_was_scheduled_for() -> None:
    firing = Firing(1, fire_at=59_000, bucket=3, due_at=61_000, attempt=2)
    assert firing.slice == Slice(1, 3)
    assert firing.member == Member(1, 59_000, 2)
