"""When a failed attempt is made again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, takewhile
from random import Random
from typing import Any

import orjson
import structlog

from wangtimer.core.errors import InvalidInput
from wangtimer.core.replica_kind import ReplicaKind

log = structlog.get_logger()

HOUR_MS = 3_600_000
# Attempts in a row at most, and the number by which those of a replay begin: its first one is 101, then 201 ...
MOST_ATTEMPTS = 100
# The column of attempts holds numbers up to 32,767.
_LAST_ROW_BEGINS = 32_601
# All pauses of a row together, as policies may have them.
MOST_PAUSES_MS = 75 * HOUR_MS
LEAST_PAUSE_MS = 100
# A target may ask for so long a pause at most.
MOST_RETRY_AFTER_MS = 24 * HOUR_MS
# Answers by which a target may say when to come again, and the one by which it says never.
SAY_WHEN = (429, 503)
GONE = 410
_GONE_NAMES = frozenset({"410", "4xx"})


class Backoff(StrEnum):
    """How pauses grow: each twice the one before, or all the same."""

    EXPONENTIAL = "exponential"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`attempts` in a row, with a pause after each but the last; a replay begins a new row.

    Exponential pauses are 1, 2, 4, 8 s ... (`pause_ms` doubled), at most `longest_pause_ms`, and each is spread by
    ±`jitter`. Fixed ones are `pause_ms` each. `pauses`, where there are some, are all of the row in ms, and say how
    many attempts there are. `within_ms` bounds the pauses of a row together, before they are spread: attempts
    after longer pauses are not made.

    After an answer with a status of `final` there is no other attempt, unless it is in `retried` too: each is a status
    such as `404`, or a class such as `4xx`. 410 is final without being named.
    """

    attempts: int = 11
    backoff: Backoff = Backoff.EXPONENTIAL
    pause_ms: int = 1_000
    longest_pause_ms: int = 300_000
    pauses: tuple[int, ...] = ()
    within_ms: int | None = None
    final: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    jitter: float = 0.2

    def wait_ms(
        self, attempt: int, random: Random, status: int | None = None, asked_ms: int | None = None
    ) -> int | None:
        """Return how long to wait after failed `attempt` (from 1); None: there is no other one in its row.

        `status` is that of the answer, None where none came; `asked_ms` the pause that the target asked for.
        """
        number = number_in_row(attempt)
        if number >= self.most or (status is not None and self.ends(status)):
            return None
        pause_ms = self._pause_ms(number, random)
        if asked_ms is not None and status in SAY_WHEN:
            pause_ms = max(pause_ms, min(asked_ms, MOST_RETRY_AFTER_MS))
        return pause_ms

    @property
    def most(self) -> int:
        """How many attempts a row has."""
        most = len(self.pauses) + 1 if self.pauses else self.attempts
        if self.within_ms is None:
            return most
        sums = accumulate(self._plain_ms(number) for number in range(1, most))
        return 1 + sum(1 for _ in takewhile(lambda ms: ms <= (self.within_ms or 0), sums))

    @property
    def longest_ms(self) -> int:
        """The longest that all pauses of a row can be together, ms, where the target asks for none."""
        if self.pauses:
            return sum(self.pauses[: self.most - 1])
        spread = 1 + self.jitter if self.backoff is Backoff.EXPONENTIAL else 1
        return int(sum(self._plain_ms(number) for number in range(1, self.most)) * spread)

    def text(self) -> str:
        """Return the policy as JSON, without what is as usual."""
        usual = RetryPolicy()
        named = {name: getattr(self, name) for name in _STORED}
        return orjson.dumps(
            {name: value for name, value in named.items() if value != getattr(usual, name)}
        ).decode()

    def _plain_ms(self, number: int) -> int:
        if self.pauses:
            return self.pauses[number - 1]
        if self.backoff is Backoff.FIXED:
            return self.pause_ms
        return min(self.pause_ms << min(number - 1, 40), self.longest_pause_ms)

    def _pause_ms(self, number: int, random: Random) -> int:
        plain_ms = self._plain_ms(number)
        if self.pauses or self.backoff is Backoff.FIXED:
            return plain_ms
        return int(plain_ms * (1 + self.jitter * (2 * random.random() - 1)))

    def ends(self, status: int) -> bool:
        """Tell whether an answer with this status is final."""
        words = (str(status), f"{status // 100}xx")
        # What names the status itself counts before what names its class.
        for word in words:
            if word in self.retried:
                return False
            if word in self.final:
                return True
        return status == GONE

    def is_gone(self, status: int | None) -> bool:
        """Tell whether an answer says that its target is gone for good: 410, which the policy does not name itself."""
        return status == GONE and not _GONE_NAMES & {*self.final, *self.retried}


_GROWING = ("attempts", "backoff", "pause_ms", "longest_pause_ms")
_SPELLED = {"pause_ms": "pause", "longest_pause_ms": "longestPause"}
_STORED = ("attempts", "backoff", "pause_ms", "longest_pause_ms", "pauses", "within_ms", "final", "retried")


@lru_cache(maxsize=1_024)
def policy_from_text(text: str) -> RetryPolicy:
    """Read back what `text` wrote; raises ValueError if this version cannot read it."""
    fields: Any = orjson.loads(text)
    if not isinstance(fields, dict):
        raise ValueError(f"a retry policy that is {text[:20]}")  # noqa: TRY004 - what is read, not what is called with
    if unknown := fields.keys() - set(_STORED):
        raise ValueError(
            f"a retry policy with {', '.join(sorted(unknown))}, which this version does not know"
        )
    read: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    if "backoff" in read:
        read["backoff"] = Backoff(read["backoff"])
    policy, usual = RetryPolicy(**read), RetryPolicy()
    for name, value in read.items():
        if type(value) is not type(getattr(usual, name)) and (name, type(value)) != ("within_ms", int):
            raise ValueError(f"a retry policy whose {name} is {value!r}")
    return policy


def readable_policies(texts: Mapping[str, str]) -> dict[str, RetryPolicy]:
    """Return the policy of each app whose text can be read; a newer version may have written another."""
    found = {}
    for app, text in texts.items():
        try:
            found[app] = policy_from_text(text)
        except (TypeError, ValueError) as error:
            log.warning("retry_policy_unread", app=app, error=repr(error))
    return found


# The policy of each app that has one.
APP_RETRIES: ReplicaKind[Mapping[str, RetryPolicy]] = ReplicaKind(
    "retries", lambda of: {app: policy.text() for app, policy in of.items()}, readable_policies, {}
)


def policy_of(
    own: RetryPolicy | None, app: str, of_apps: Mapping[str, RetryPolicy], usual: RetryPolicy
) -> RetryPolicy:
    """Return the policy of a call: its timer's or its target's, else its app's, else the deployment's."""
    return own or of_apps.get(app) or usual


def number_in_row(attempt: int) -> int:
    """Return which attempt of its row this is, from 1."""
    return (attempt - 1) % MOST_ATTEMPTS + 1


def first_of_replay(last: int) -> int:
    """Return the number of the first attempt of a replay, after the `last` that was made or planned (0: none)."""
    return 1 if last == 0 else -(-last // MOST_ATTEMPTS) * MOST_ATTEMPTS + 1


def may_be_replayed(last: int) -> bool:
    """Tell whether a firing whose `last` attempt this is may have another row: some three hundred are possible."""
    return first_of_replay(last) <= _LAST_ROW_BEGINS


def changed_policy(was: RetryPolicy | None, asked: Mapping[str, Any]) -> RetryPolicy:
    """Return the policy with what is asked, by the names of its attributes; None gives one its usual value.

    A list of pauses takes the place of how many attempts there are and how pauses grow, and the other way round.
    A longest pause that is not asked for is no shorter than the first one. Raises `InvalidInput`, with fields as in
    `/v1`.
    """
    growing = [name for name in _GROWING if asked.get(name) is not None]
    if growing and asked.get("pauses"):
        reason = "pauses are given too: they say how many attempts there are, and how long each pause is"
        raise InvalidInput(f"retry.{_SPELLED.get(growing[0], growing[0])}", reason, "give one of them")
    usual = RetryPolicy()
    policy = usual if was is None else was
    if growing:
        policy = replace(policy, pauses=())
    if asked.get("pauses"):
        policy = replace(policy, **{name: getattr(usual, name) for name in _GROWING})
    policy = replace(
        policy, **{name: getattr(usual, name) if value is None else value for name, value in asked.items()}
    )
    if policy.backoff is Backoff.EXPONENTIAL and policy.longest_pause_ms < policy.pause_ms:
        if asked.get("longest_pause_ms") is not None:
            reason = "it is shorter than pause, the first one"
            raise InvalidInput("retry.longestPause", reason, "let it be as long or longer, or leave it out")
        policy = replace(policy, longest_pause_ms=policy.pause_ms)
    if policy.longest_ms > MOST_PAUSES_MS:
        reason = f"its pauses are up to {policy.longest_ms / HOUR_MS:.1f} h together"
        raise InvalidInput("retry", reason, f"let them be {MOST_PAUSES_MS // HOUR_MS} h at most")
    return policy
