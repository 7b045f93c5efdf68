from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.stages.world import World
from tests.store.members import row_at
from wangtimer.core.flow.firing import DueMember, Firing, Member
from wangtimer.core.flow.slicing import SliceOrLane
from wangtimer.executor.claim import Claim, Claims, Held
from wangtimer.executor.keeper import Keeper

RENEW_EVERY_S = 2.0
LEASE_S = 6.0


class Keeping:
    """A keeper by itself, and the claims it keeps."""

    def __init__(self, world: World, is_started: bool = True) -> None:
        self.world = world
        self.claims = Claims("test", 10_000)
        self.renewals: list[int] = []
        node = world.api
        node.taps["before slices.renew"] = lambda: self.renewals.append(world.now)
        self.keeper = Keeper(node.slices, self.claims, world.time, RENEW_EVERY_S, node.fire_rule)
        if is_started:
            world.time.every(node.process, 0.25, self.keeper.renew_due)

    def claim(self, claim_id: str = "mine", number: int = 2, until_s: float = 1_000) -> Claim:
        """Return a claim on so many members, held in Redis too."""
        rows: list[Firing] = [row_at(self.world.now + 500, timer_id) for timer_id in range(1, number + 1)]
        slices = self.world.slices
        slices.arm_now(rows[0].slice, [DueMember(row.member, row.due_at) for row in rows])
        members = [row.member for row in rows]
        slices.claim(rows[0].slice, claim_id, members)
        now = self.world.time.monotonic()
        claim = Claim(rows[0].slice, claim_id, members, now, now + until_s)
        self.claims.add(claim)
        return claim

    def lease_ends(self, claim: Claim) -> list[int]:
        """Return when the claim's running leases end, as Redis has it."""
        return list(self.world.redis.table("slices")[claim.stands_in].running.values())


@pytest.fixture
def keeping(make_world: Callable[..., World]) -> Keeping:
    return Keeping(make_world(executors=0))


def members_of(claim: Claim) -> list[Member]:
    return sorted(claim.open_members())


def test_a_claim_is_renewed_every_two_seconds_for_as_long_as_it_holds_something(keeping: Keeping) -> None:
    claim = keeping.claim()
    keeping.world.run_for(60)
    assert len(keeping.renewals) == 30
    assert min(keeping.lease_ends(claim)) > keeping.world.now
    claim.let_go(members_of(claim))
    keeping.world.run_for(60)
    assert len(keeping.renewals) == 30


def test_a_claim_that_holds_nothing_is_forgotten(keeping: Keeping) -> None:
    claim = keeping.claim()
    assert keeping.claims.current() == [claim]
    claim.let_go(members_of(claim))
    assert claim.is_done.is_set()
    assert keeping.claims.current() == []


def test_flaw_19_a_claim_is_not_renewed_for_ever(keeping: Keeping) -> None:
    claim = keeping.claim(until_s=30)
    keeping.world.run_for(120)
    assert max(keeping.renewals) <= keeping.renewals[0] + 30_000
    assert max(keeping.lease_ends(claim)) < keeping.world.now


def test_what_is_renewed_no_more_is_held_no_more(keeping: Keeping) -> None:
    """Whoever has it here may never end, and would hold a place of the process for good."""
    claim = keeping.claim(until_s=30)
    keeping.world.run_for(29)
    assert len(claim.open_members()) == 2
    keeping.world.run_for(1)
    assert claim.open_members() == []
    assert keeping.claims.current() == []


def test_all_claims_that_are_due_are_renewed_in_one_trip(keeping: Keeping) -> None:
    for number in range(5):
        keeping.claim(str(number))
    keeping.world.run_for(2.1)
    assert len(keeping.renewals) == 1


def test_a_claim_that_cannot_be_renewed_harms_no_other(keeping: Keeping) -> None:
    bad, good = keeping.claim("bad", number=1), keeping.claim("good")
    plain = keeping.world.api.slices.renew

    def renew(held: Mapping[tuple[SliceOrLane, str], Sequence[Member]]) -> object:
        if any(claim_id == "bad" for _, claim_id in held):
            raise RuntimeError("WRONGTYPE")
        return plain(held)

    keeping.world.api.slices.renew = renew  # type: ignore[method-assign, assignment]
    answers: list[str] = []
    keeping.keeper.ask(Held(good, members_of(good)[1]), lambda: answers.append("mine"))
    keeping.world.run_for(2.1)
    assert answers == ["mine"]
    assert good.renewed_at > bad.renewed_at


def test_what_redis_gave_to_another_is_let_go(keeping: Keeping) -> None:
    claim = keeping.claim()
    lost, kept = members_of(claim)
    keeping.world.redis.table("slices")[claim.stands_in].owner[lost] = "another"
    keeping.world.run_for(2.1)
    assert not claim.holds(lost)
    assert claim.holds(kept)


def test_a_failed_renewal_is_tried_again_and_does_not_count_as_one(keeping: Keeping) -> None:
    claim = keeping.claim()
    member = members_of(claim)[0]
    keeping.world.redis.away = True
    keeping.world.run_for(LEASE_S - 0.9)
    assert claim.holds(member)
    assert not claim.is_safe(member, keeping.world.time.monotonic(), LEASE_S)
    keeping.world.redis.away = False
    keeping.world.run_for(0.5)
    assert claim.is_safe(member, keeping.world.time.monotonic(), LEASE_S)


def test_flaw_11_a_lease_with_a_second_left_or_less_does_not_let_anything_be_sent(keeping: Keeping) -> None:
    claim = keeping.claim()
    member = members_of(claim)[0]
    sent_at = claim.renewed_at
    assert claim.is_safe(member, sent_at + 5.0, LEASE_S)
    assert not claim.is_safe(member, sent_at + 5.001, LEASE_S)
    claim.let_go([member])
    assert not claim.is_safe(member, sent_at, LEASE_S)


def test_a_renewal_counts_from_when_it_was_sent_not_from_when_it_was_answered(
    make_world: Callable[..., World],
) -> None:
    keeping = Keeping(make_world(executors=0), is_started=False)
    claim = keeping.claim()
    keeping.world.run_for(3)
    keeping.world.api.taps["after slices.renew"] = lambda: keeping.world.run_for(1.5)
    keeping.keeper.renew_due()
    assert claim.renewed_at == 3.0


def test_a_claim_asked_about_is_renewed_at_once_and_told_of_only_if_it_is_still_held(
    keeping: Keeping,
) -> None:
    claim = keeping.claim()
    mine, lost = members_of(claim)
    keeping.world.redis.table("slices")[claim.stands_in].owner[lost] = "another"
    told: list[Member] = []
    for member in (mine, lost):
        keeping.keeper.ask(Held(claim, member), if_mine=lambda member=member: told.append(member))
    keeping.keeper.renew_due()
    assert told == [mine]
    assert claim.open_members() == [mine]


def test_a_claim_asked_about_that_cannot_be_renewed_is_let_go(keeping: Keeping) -> None:
    claim = keeping.claim(number=1)
    told: list[str] = []
    keeping.world.run_for(1)
    keeping.world.redis.away = True
    keeping.keeper.ask(Held(claim, members_of(claim)[0]), if_mine=lambda: told.append("mine"))
    keeping.keeper.renew_due()
    assert told == []
    assert claim.is_done.is_set()
