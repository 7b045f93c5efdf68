"""The clock of the store's node is put, while firings are held and called."""

from tests.chaos.trial import Strike, Trial

# Long enough for every lease and every look at the clock.
WATCHED_S = 25


def put_store_clock_back_10s(trial: Trial) -> Strike:
    return _put(trial, -10_000)


def put_store_clock_ahead_20s(trial: Trial) -> Strike:
    return _put(trial, 20_000)


def _put(trial: Trial, shift_ms: int) -> Strike:
    """Put the clock while executors hold firings; nothing may be called twice for that."""
    clock = trial.deployment.store_clock
    assert clock is not None, "the row says that the store's clock can be moved"
    trial.tend_until(lambda: bool(trial.look().running), 20, "an executor holds firings")
    seconds, _ = trial.store.time()
    held = trial.look()
    clock.put(shift_ms)
    put_to, _ = trial.store.time()
    assert abs(put_to - seconds - shift_ms / 1_000) <= 1.5, "the store does not see its clock put"
    back_on_time_from = int(clock.now_ms()) if shift_ms > 0 else 0
    trial.tend_for(WATCHED_S)
    return Strike(
        len(held.running),
        frozenset(held.running) | held.armed,
        others_from=back_on_time_from,
        note=f"the store's clock put by {shift_ms / 1_000:g} s",
    )
