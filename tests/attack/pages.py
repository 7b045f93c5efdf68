"""Answers as browsers and neighbours see them: policies of pages, and what is shown to those without a key."""

import re

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from wangtimer.api.http.browser_rules import SECURITY_HEADERS

PAGES = ("/", "/docs", "/docs/errors")
ANSWERS = (
    *PAGES,
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/v1/timers",
    "/v1/nothing",
    "/api/timer/v1/defs?app=bank",
)
SCRIPT = "<script>alert(1)</script>"
FLOWER = ("/", "/workers", "/api/workers", "/api/tasks", "/broker")


def _headers(ground: Ground) -> str:
    names = {one.lower() for one in SECURITY_HEADERS}
    missing = [
        f"{path}: {name}"
        for path in ANSWERS
        for name in sorted(names - ground.ask("GET", path, ground.bank).headers.keys())
    ]
    return ", ".join(missing) or f"{len(names)} headers with each"


def policy_of(path: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        answer = ground.ask("GET", path, ground.bank)
        policy = answer.headers["content-security-policy"]
        weak = [
            word
            for word in ("unsafe-inline", "unsafe-eval", "*", "http:", "https:", "data:")
            if word in policy.split()
        ]
        weak += ["'unsafe" for _ in re.findall(r"script-src[^;]*'unsafe", policy)]
        is_closed = policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
        elsewhere = re.findall(r'(?:src|href)="(?:https?:)?//[^"]*"', answer.text)
        return f"{'closed' if is_closed else policy}; {len(weak)} weak sources; {len(elsewhere)} files from elsewhere"

    return Attack(
        f"The policy of the page `{path}`", "closed; 0 weak sources; 0 files from elsewhere", carry_out
    )


def _reflected(ground: Ground) -> str:
    """A script in each place that an error repeats."""
    answers = [
        ground.ask("GET", "/v1/timers?%3Cscript%3Ealert(1)%3C/script%3E=1", ground.bank),
        ground.ask("GET", "/%3Cscript%3Ealert(1)%3C/script%3E", ground.bank),
        ground.ask("GET", "/v1/timers/key:%3Cscript%3Ealert(1)%3C%2Fscript%3E", ground.bank),
        ground.ask("POST", "/v1/timers", ground.bank, {SCRIPT: 1}),
        ground.ask("POST", "/v1/timers", ground.bank, {"schedule": {"cron": SCRIPT}, "target": {"url": "http://h.example/"}}),
        ground.ask("GET", "/api/timer/v1/def?app=" + "%3Cscript%3E", ground.bank),
    ]  # fmt: skip
    as_html = [one for one in answers if "html" in one.headers["content-type"]]
    sniffed = [one for one in answers if one.headers.get("x-content-type-options") != "nosniff"]
    return f"{len(as_html)} as HTML, {len(sniffed)} that a browser may guess about"


def _nobody(ground: Ground) -> str:
    """Of health, nobody learns where servers are."""
    ports = [
        str(one)
        for one in (ground.deployment.sql.port, ground.deployment.store.port, ground.deployment.broker.port)
    ]
    texts = [ground.ask("GET", one).text for one in ("/healthz", "/readyz", "/openapi.json", "/docs", "/")]
    return f"{sum(port in text for text in texts for port in ports)} addresses of servers"


def _metrics(ground: Ground) -> str:
    told = [ground.ask("GET", "/metrics", key) for key in (None, ground.bank)]
    return ", ".join(map(str, told))


def _labels(ground: Ground) -> str:
    """Metrics are read by many. They name the targets' hosts that are failing (decision 44), and no other place."""
    lines = ground.ask("GET", "/metrics", ground.operator).text.splitlines()
    others = [one for one in lines if not one.startswith("wangtimer_host_failing_seconds{")]
    secrets = (ground.bank, ground.operator, "password", "wtk_", "whsec_")
    found = sum(any(secret in one for one in lines) for secret in secrets)
    return f"{found + any('127.0.0.1' in one for one in others)} addresses and secrets"


def _flower(ground: Ground) -> str:
    address = ground.deployment.flower_url.removeprefix("http://")
    return summed(ground.ask("GET", path, at=address) for path in FLOWER)


def _flower_metrics(ground: Ground) -> str:
    """Flower 2.2 guards its pages, and not these."""
    answer = ground.ask("GET", "/metrics", at=ground.deployment.flower_url.removeprefix("http://"))
    places = ("redis://", "127.0.0.1", "wtk_", "shop", "bank")
    return f"{answer}, with {sum(one in answer.text for one in places)} addresses, secrets and names of apps"


def _flower_guessed(ground: Ground) -> str:
    address = ground.deployment.flower_url.removeprefix("http://")
    guesses = ("b3BlcmF0b3I6", "b3BlcmF0b3I6b3BlcmF0b3I=", "YWRtaW46YWRtaW4=", "Og==")
    return summed(ground.ask("GET", "/workers", at=address, Authorization=f"Basic {one}") for one in guesses)


SECTION = Section(
    "Pages, metrics and Flower",
    ("API8",),
    "What an answer lets a browser do, and what is shown to those who have no key.",
    (
        Attack(
            f"Security headers of {len(ANSWERS)} answers, errors among them",
            f"{len(SECURITY_HEADERS)} headers with each",
            _headers,
        ),
        *map(policy_of, PAGES),
        Attack(
            "A script in the parts of requests that errors repeat",
            "0 as HTML, 0 that a browser may guess about",
            _reflected,
        ),
        Attack("Addresses of servers in what needs no key", "0 addresses of servers", _nobody),
        Attack("`/metrics` without a key and with an app's", "401 40101, 403 40301", _metrics),
        Attack(
            "Addresses, but of targets that are failing, and secrets in `/metrics`",
            "0 addresses and secrets",
            _labels,
        ),
        Attack(f"Flower without a password, {len(FLOWER)} paths", "401 of each", _flower),
        Attack(
            "Flower's `/metrics` without a password: open, with names of workers and counts",
            "200, with 0 addresses, secrets and names of apps",
            _flower_metrics,
        ),
        Attack("Flower with guessed passwords", "401 of each", _flower_guessed),
    ),
)
