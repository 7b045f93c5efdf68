"""Web pages and other names: DNS rebinding, cross-site requests, headers of proxies that nobody believes."""

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground

BODY = b'{"key": "by-a-page", "schedule": {"delay": "0s"}, "target": {"url": "http://target.example/"}}'
# Of a browser's form.
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "text/json")


def at(ground: Ground, request: str, direct: bool = False) -> str:
    """Send a head as it is written, with a key of the bank; return the statuses of its answers and their codes."""
    head = request.replace("KEY", f"Authorization: Bearer {ground.bank}").replace("\n", "\r\n")
    return ground.told_raw(f"{head}Connection: close\r\n\r\n".encode(), ground.web if direct else "")


def named(host: str) -> Attack:
    """Return an attack under this Host, through the proxy and directly."""

    def carry_out(ground: Ground) -> str:
        head = f"GET /v1/timers HTTP/1.1\nHost: {host}\nKEY\n"
        return summed(at(ground, head, direct) for direct in (False, True))

    return Attack(f"`Host: {host}`, through the proxy and directly", "400 40011 of each", carry_out)


HOSTS = ("evil.example", "evil.example:5000", "localhost.evil.example", "127.0.0.1.evil.example", "10.9.9.9",
         "[2001:db8::1]", "metadata.google.internal", "2130706433", "xn--lcalhost-8cb")  # fmt: skip


def _forwarded(ground: Ground) -> str:
    head = "GET /v1/timers HTTP/1.1\nHost: evil.example\nX-Forwarded-Host: localhost\nForwarded: host=localhost\nKEY\n"
    return summed(at(ground, head, direct) for direct in (False, True))


def _two(ground: Ground) -> str:
    head = "GET /v1/timers HTTP/1.1\nHost: localhost\nHost: evil.example\nKEY\n"
    return summed(at(ground, head, direct) for direct in (False, True))


def _none(ground: Ground) -> str:
    return ", ".join(at(ground, f"GET /v1/timers HTTP/{version}\nKEY\n", True) for version in ("1.1", "1.0"))


def _absolute(ground: Ground) -> str:
    head = "GET http://localhost/v1/timers HTTP/1.1\nHost: evil.example\nKEY\n"
    return ", ".join(at(ground, head, direct) for direct in (False, True))


def _posted(ground: Ground) -> str:
    head = "POST /v1/timers HTTP/1.1\nHost: evil.example\nOrigin: http://evil.example\nKEY\n"
    head += f"Content-Type: application/json\nContent-Length: {len(BODY)}\n"
    raw = head.replace("KEY", f"Authorization: Bearer {ground.bank}").replace("\n", "\r\n").encode()
    answered = ground.told_raw(raw + b"Connection: close\r\n\r\n" + BODY)
    made = ground.ask("GET", "/v1/timers/key:by-a-page", ground.bank)
    return f"{answered}; its timer: {made}"


def _forms(ground: Ground) -> str:
    told = [
        ground.ask(
            "POST", "/v1/timers", ground.bank, raw=BODY, Content_Type=kind, Origin="http://evil.example"
        )
        for kind in FORMS
    ]
    return summed(told)


def _preflight(ground: Ground) -> str:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "authorization,content-type"}  # fmt: skip
    allowed = 0
    for method, path in (
        ("OPTIONS", "/v1/timers"),
        ("GET", "/v1/timers"),
        ("GET", "/openapi.json"),
        ("GET", "/readyz"),
    ):
        answer = ground.ask(method, path, ground.bank, **headers)
        allowed += sum(name.startswith("access-control-") for name in answer.headers)
    return f"{allowed} headers that allow another origin"


def _cookies(ground: Ground) -> str:
    paths = ("/", "/docs", "/openapi.json", "/v1/timers", "/readyz", "/nothing")
    return f"{sum('set-cookie' in ground.ask('GET', one, ground.bank).headers for one in paths)} cookies"


SECTION = Section(
    "Web pages and names of hosts",
    ("API2", "API8"),
    "What a web page in a client's browser, or who names the service otherwise, may try.",
    (
        *map(named, HOSTS),
        Attack("Another `Host`, with `X-Forwarded-Host: localhost`", "400 40011 of each", _forwarded),
        Attack("Two `Host` headers, through the proxy and directly", "400 of each", _two),
        Attack("No `Host`, by HTTP/1.1 and by HTTP/1.0", "400 40011, 400 40011", _none),
        Attack(
            "Another `Host` behind a request line with the right one, through the proxy and directly",
            "400 40011, 400 40011",
            _absolute,
        ),
        Attack("A page under a rebound name posts a timer", "400 40011; its timer: 404 40401", _posted),
        Attack("Bodies that a form can send without asking, of four kinds", "415 41501 of each", _forms),
        Attack(
            "A page asks whether another origin may call", "0 headers that allow another origin", _preflight
        ),
        Attack("Cookies that a page could make use of", "0 cookies", _cookies),
    ),
)
