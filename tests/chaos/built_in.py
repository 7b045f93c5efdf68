"""Faults that lie in how the deployment was built, and deployments that should bear being built so."""

from tests.chaos.creates import SOON_MS, Creates, all_done
from tests.chaos.shifted_clock import is_shifted
from tests.chaos.trial import Strike, Trial
from wangtimer.stack.service import is_ready

# One of each kind has a clock that is off; the second has the right one.
OFF = ("web", "beat", "scheduler", "migrate", "trigger", "callback")
CREATES = 100


def nothing(trial: Trial) -> Strike:
    trial.tend_for(5)
    return Strike(len(trial.look().running))


def double_messages(trial: Trial) -> Strike:
    """The proxies that every process was built with do it."""
    trial.tend_for(5)
    return Strike(sum(doubler.doubled for doubler in trial.deployment.doublers))


def run_with_off_clocks(trial: Trial) -> Strike:
    """See each process with a clock that is off do its work: the API makes timers, the others have them fired."""
    assert all(is_shifted(trial.pid(name)) for name in OFF)
    made = _make_soon_due(trial, [trial.deployment.api_url])
    trial.trigger_that_watches("trigger")
    trial.tend_until(
        lambda: bool(_runs(trial, "callback")), 20, "an executor whose clock is off runs firings"
    )
    met = _runs(trial, "callback")
    trial.tend_for(20)
    return Strike(met, promised=made)


def run_two_of_everything(trial: Trial) -> Strike:
    """Make timers over both APIs at once, and see both of each kind at work."""
    deployment = trial.deployment
    apis = [deployment.api_url, deployment.second_api_url]
    trial.tend_until(lambda: all(map(is_ready, apis)), 20, "both APIs are ready")
    made = _make_soon_due(trial, apis)
    for name in ("trigger", "trigger2"):
        trial.trigger_that_watches(name)
    for name in ("callback", "callback2"):
        trial.tend_until(lambda name=name: bool(_runs(trial, name)), 20, f"{name} runs firings")  # type: ignore[misc]
    trial.tend_for(20)
    return Strike(len(trial.look().running), promised=made)


def _runs(trial: Trial, name: str) -> int:
    return len(trial.look().running_of(trial.pid(name)))


def _make_soon_due(trial: Trial, api_urls: list[str]) -> frozenset[tuple[int, int]]:
    """Make one-shots over each of these APIs, all at once; return their promises."""
    creates = [Creates(url, trial.deployment.target.url, SOON_MS) for url in api_urls]
    futures = [future for one in creates for future in one.begin(CREATES)]
    trial.tend_until(lambda: all_done(futures), 60, "all creates are answered")
    assert not sum(one.failed for one in creates), "a create was refused"
    return frozenset().union(*(one.enabled for one in creates))
