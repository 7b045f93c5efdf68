"""What a retry policy means, written down a second time: from its fields, and nothing else of the product."""

from wangtimer.core.retry import Backoff, RetryPolicy

SAY_WHEN = (429, 503)
GONE = 410


def most_attempts(policy: RetryPolicy) -> int:
    """Return how many attempts a firing has at most."""
    attempts, waited_ms = 1, 0
    for pause_ms in _pauses(policy):
        waited_ms += pause_ms
        if policy.within_ms is not None and waited_ms > policy.within_ms:
            break
        attempts += 1
    return attempts


def is_final(policy: RetryPolicy, status: int) -> bool:
    """Tell whether no attempt follows a call that was answered so."""
    if 200 <= status < 300:
        return True
    for name in (str(status), f"{status // 100}xx"):
        if name in policy.retried or name in policy.final:
            return name not in policy.retried
    return status == GONE


def shortest_pause_ms(policy: RetryPolicy, attempt: int, status: int | None, asked_s: int | None) -> float:
    """Return how long the attempt after `attempt` waits at least."""
    pause_ms: float = _pauses(policy)[attempt - 1]
    if not policy.pauses and policy.backoff is Backoff.EXPONENTIAL:
        pause_ms *= 0.8
    if status in SAY_WHEN and asked_s is not None:
        pause_ms = max(pause_ms, 1_000 * asked_s)
    return pause_ms


def _pauses(policy: RetryPolicy) -> list[int]:
    if policy.pauses:
        return list(policy.pauses)
    number = policy.attempts - 1
    if policy.backoff is Backoff.FIXED:
        return [policy.pause_ms] * number
    return [min(policy.pause_ms * 2**one, policy.longest_pause_ms) for one in range(number)]
