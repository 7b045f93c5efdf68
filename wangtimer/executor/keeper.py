"""The keeper: renews the leases of what this process holds, so that a death is noticed in seconds."""

from collections.abc import Callable
from threading import Lock

import structlog

from wangtimer.base.loop import Loop
from wangtimer.core.errors import StoreAway
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.call_options import Timeouts
from wangtimer.executor.claim import MARGIN_S, Claim, Claims, Held
from wangtimer.executor.fire_rule import FireRule
from wangtimer.store.redis.slices import SliceStore

log = structlog.get_logger()

# While some claim is held, and else: a claim made meanwhile is renewed so much later, of a lease of 3 s or more.
LOOK_EVERY_S, IDLE_LOOK_S = 0.25, 0.5
CLAIMS_A_TRIP = 100


class Keeper:
    """A thread with a Redis connection of its own, so that no slow command of others costs a lease."""

    def __init__(
        self, slices: SliceStore, claims: Claims, clock: Clock, renew_every_s: float, fire_rule: FireRule
    ) -> None:
        self._slices = slices
        self._claims = claims
        self._clock = clock
        self._renew_every_s = renew_every_s
        self._lease_s = fire_rule.running_lease_ms / 1_000
        self._timeout_ms = fire_rule.timeout_ms
        self._asked: list[tuple[Held, Callable[[], None]]] = []
        self._lock = Lock()
        self.loop = Loop("keeper", self.renew_due)

    def may_send(self, held: Held) -> bool:
        """Tell whether the member is held, with a second of its lease surely left."""
        return held.claim.is_safe(held.member, self._clock.monotonic(), self._lease_s)

    def keep_for(self, held: Held, due_at: int, timeouts: Timeouts) -> None:
        """Renew the lease for as long as a call may take that has time-outs of its own."""
        usual_ms = self._timeout_ms
        waits_ms = max(0.0, due_at - self._clock.now_ms()) + usual_ms
        # Connecting has its part of a call's usual time.
        longest_ms = timeouts.longest_ms(usual_ms, usual_ms)
        held.claim.keep_until(self._clock.monotonic() + (waits_ms + longest_ms) / 1_000 + MARGIN_S)

    def ask(self, held: Held, if_mine: Callable[[], None]) -> None:
        """Renew a member's claim at once; call `if_mine` if the member is still held, else let go of it."""
        with self._lock:
            self._asked.append((held, if_mine))
        self.loop.wake()

    def renew_due(self) -> float:
        """Renew claims whose last renewal is old enough, and those asked about; let go of what took too long.

        Return in how many seconds to look again.
        """
        with self._lock:
            asked, self._asked = self._asked, []
        asked_ids = {held.claim.id for held, _ in asked}
        now = self._clock.monotonic()
        claims = self._claims.current()
        _let_go_of_what_is_over(claims, now)
        due = [
            claim
            for claim in claims
            if now < claim.until and (claim.id in asked_ids or now - claim.renewed_at >= self._renew_every_s)
        ]
        for start in range(0, len(due), CLAIMS_A_TRIP):
            self._renew_guarded(due[start : start + CLAIMS_A_TRIP])
        self._answer(asked, started_at=now)
        return LOOK_EVERY_S if claims else IDLE_LOOK_S

    def _renew_guarded(self, claims: list[Claim]) -> None:
        """Renew these; after an unforeseen error one by one, so that a bad one harms no other."""
        try:
            self._renew(claims)
        except Exception:
            log.exception("renewal_stumbled", claims=len(claims))
            if len(claims) > 1:
                for claim in claims:
                    self._renew_guarded([claim])

    def _renew(self, claims: list[Claim]) -> None:
        sent_at = self._clock.monotonic()
        members = {(claim.stands_in, claim.id): claim.open_members() for claim in claims}
        try:
            still_held = self._slices.renew(members)
        except StoreAway as error:
            log.warning("renewal_failed", claims=len(claims), error=str(error))
            return
        for claim in claims:
            key = (claim.stands_in, claim.id)
            # Members that were let go of meanwhile are settled and released.
            lost = [
                member for member in members[key] if member not in still_held[key] and claim.holds(member)
            ]
            if lost:
                log.warning("claim_lost", slice=claim.stands_in.tag, members=len(lost))
                claim.let_go(lost)
            claim.renewed_at = sent_at

    def _answer(self, asked: list[tuple[Held, Callable[[], None]]], started_at: float) -> None:
        for held, if_mine in asked:
            if held.claim.renewed_at >= started_at and held.claim.holds(held.member):
                if_mine()
            else:
                held.claim.let_go([held.member])


def _let_go_of_what_is_over(claims: list[Claim], now: float) -> None:
    """Let go of all members of claims that are renewed no more: a call that hangs, say, may never end."""
    for claim in claims:
        if now >= claim.until and (members := claim.open_members()):
            log.warning("claim_given_up", slice=claim.stands_in.tag, members=len(members))
            claim.let_go(members)
