"""How often executors died on a member: counted where running leases run out, kept until its outcome."""

from tests.store.members import due_at
from tests.store.worlds import LEASES, HotWorld
from wangtimer.core.flow.firing import DueMember
from wangtimer.core.flow.slicing import Slice
from wangtimer.store.redis.slices import BacklogRoom

PLENTY = 1_000


class Bench:
    """One slice and one member that is due now."""

    def __init__(self, hot: HotWorld) -> None:
        self.hot = hot
        self.due: DueMember = due_at(hot.clock.now_ms())
        self.slice = Slice.at(self.due.due_at, 0)
        hot.slices.add({self.slice: [self.due]}, is_repair=False)

    def claim(self, claim_id: str) -> int:
        """Have it armed and claimed; return its deaths."""
        self.hot.slices.turn(self.slice, "token", PLENTY, keep_leases=False, backlog=BacklogRoom())
        (taken,) = self.hot.slices.claim(self.slice, claim_id, [self.due.member])
        return taken.deaths

    def die(self) -> None:
        """Let the executor's lease run out."""
        self.hot.clock.sleep(LEASES.running_ms / 1_000 + 0.001)


def test_a_member_never_run_has_no_deaths(hot: HotWorld) -> None:
    assert Bench(hot).claim("c1") == 0


def test_each_death_while_it_ran_counts_up_to_two(hot: HotWorld) -> None:
    bench = Bench(hot)
    deaths = []
    for claim_id in ("c1", "c2", "c3", "c4"):
        deaths.append(bench.claim(claim_id))
        bench.die()
    assert deaths == [0, 1, 2, 2]


def test_a_death_of_one_tried_apart_counts_as_was_noted(hot: HotWorld) -> None:
    bench = Bench(hot)
    bench.claim("c1")
    member = bench.due.member
    anothers, mine = (bench.slice, "c0"), (bench.slice, "c1")
    assert hot.slices.try_apart({anothers: [member], mine: [member]}, 5) == {anothers: set(), mine: {member}}
    bench.die()
    assert bench.claim("c2") == 5


def test_an_armed_lease_that_ran_out_is_no_death(hot: HotWorld) -> None:
    bench = Bench(hot)
    hot.slices.turn(bench.slice, "token", PLENTY, keep_leases=False, backlog=BacklogRoom())
    hot.clock.sleep(LEASES.armed_ms / 1_000 + 0.001)
    assert bench.claim("c1") == 0


def test_a_put_back_forgets_no_death_and_an_outcome_forgets_all(hot: HotWorld) -> None:
    bench = Bench(hot)
    bench.claim("c1")
    bench.die()
    assert bench.claim("c2") == 1
    hot.slices.put_back(bench.slice, "c2", [bench.due])
    assert bench.claim("c3") == 1
    hot.slices.release({(bench.slice, "c3"): [bench.due.member]})
    hot.slices.add({bench.slice: [bench.due]}, is_repair=False)
    assert bench.claim("c4") == 0
