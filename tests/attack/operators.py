"""What only operators set, tried by an app's key for itself; and ways around a pause."""

from typing import Any

from tests.attack.attack import Attack, Section
from tests.attack.ground import BANK, Ground
from tests.attack.keys import COUNTS_WITHIN_S

APP = f"/v1/apps/{BANK}"
ITSELF: tuple[tuple[str, str, str, dict[str, Any] | None], ...] = (
    ("pauses everything", "PUT", "/v1/pauses/all", {}),
    ("lets everything go on", "DELETE", "/v1/pauses/all", None),
    ("pauses itself", "PUT", f"/v1/pauses/app:{BANK}", {}),
    ("lets itself go on", "DELETE", f"/v1/pauses/app:{BANK}", None),
    ("pauses a host that others call", "PUT", "/v1/pauses/host:pays-the-shop.example:443", {}),
    ("reads what is paused", "GET", "/v1/pauses", None),
    ("limits every host", "PUT", "/v1/host-limits/*", {"callsPerSecond": 1}),
    ("frees every host", "DELETE", "/v1/host-limits/*", None),
    ("reads the limits of hosts", "GET", "/v1/host-limits", None),
    ("reads which hosts fail for all apps", "GET", "/v1/failing-hosts:allApps", None),
    ("reads its own limits", "GET", APP, None),
    ("lifts its own limits", "PATCH", APP, {"limits": {"timers": None, "requestsPerSecond": 100_000}}),
    ("limits the shop", "PATCH", "/v1/apps/shop", {"limits": {"requestsPerSecond": 1}}),
    ("allows itself a network inside", "PATCH", APP, {"egress": {"allow": ["10.0.0.0/8"]}}),
    ("takes https only off", "PATCH", APP, {"egress": {"httpsOnly": None}}),
    ("trusts an authority", "PATCH", APP, {"egress": {"caCertificates": None}}),
    ("gives itself a queue", "PATCH", APP, {"queue": "reports"}),
    ("takes the shop its queue", "PATCH", "/v1/apps/shop", {"queue": None}),
    ("makes an app", "POST", "/v1/apps", {"name": "bank-2", "limits": {"timers": 1_000_000}}),
)


def by_itself(what: str, method: str, path: str, body: dict[str, Any] | None) -> Attack:
    def carry_out(ground: Ground) -> str:
        ground.things  # noqa: B018 -- something is paused and limited
        before = [ground.state_of(one) for one in ("shop", BANK)]
        answer = ground.ask(method, path, ground.bank, body)
        after = [ground.state_of(one) for one in ("shop", BANK)]
        return f"{answer}; {'nothing has changed' if after == before else 'CHANGED'}"

    shown = path.replace(f"apps/{BANK}", "apps/bank")
    return Attack(f"The bank {what}: `{method} {shown}`", "403 40301; nothing has changed", carry_out)


def _around_a_pause(ground: Ground) -> str:
    """It fires by hand, makes and edits timers, disables and enables them; all calls are made once it goes on."""
    key, url = ground.made_app("paused"), f"{ground.target.url}paused"
    body = {"key": "old", "schedule": {"delay": "2h"}, "target": {"url": url}}
    timer = int(ground.done("POST", "/v1/timers", key, body)["id"])
    ground.done("PUT", "/v1/pauses/app:paused", ground.operator, {"reason": "too many calls"})
    try:
        ground.tend(COUNTS_WITHIN_S + 1)
        new = ground.timer("new", url, key)
        ground.done("POST", f"/v1/timers/{timer}:fire", key)
        for verb in ("disable", "enable", "fire"):
            ground.done("POST", f"/v1/timers/{timer}:{verb}", key)
        edited = ground.timer("edited", url, key)
        ground.done("PATCH", f"/v1/timers/{edited}", key, {"target": {"url": f"{url}?edited"}})
        beside = ground.status_of_a_firing("beside a pause")
        ground.tend(3)
        called = sum(len(ground.target.calls_of(one)) for one in (timer, new, edited))
    finally:
        ground.done("DELETE", "/v1/pauses/app:paused", ground.operator)
    ended = ground.outcome(new).status
    return f"{called} calls; the bank's meanwhile: {beside}; when it goes on: {ended}"


def _nothing_to_pause(ground: Ground) -> str:
    names = ("everything", "app:", "timer:", "timer:all", "timer:99999999999999999999", "host:", "host:evil.example",
             "host:user@evil.example:80", "host:evil.example:80%0d%0aX:1", "all%20", "limit:shop")  # fmt: skip
    before = ground.state_of(BANK)["pause"]
    told = {str(ground.ask("PUT", f"/v1/pauses/{one}", ground.operator, {})) for one in names}
    return f"{', '.join(sorted(told))}; {len(ground.state_of(BANK)['pause']) - len(before)} more pauses"


SECTION = Section(
    "What only operators set",
    ("API5", "API4"),
    "Pauses, limits, queues and ways out are set by operators. The app `bank` tries each for itself and for others.",
    (
        *(by_itself(*one) for one in ITSELF),
        Attack(
            "An app that is paused fires by hand, makes timers, edits, disables and enables them",
            "0 calls; the bank's meanwhile: succeeded; when it goes on: succeeded",
            _around_a_pause,
        ),
        Attack(
            "An operator pauses what is nothing, eleven names",
            "400 40007, 404 40402; 0 more pauses",
            _nothing_to_pause,
        ),
    ),
)
