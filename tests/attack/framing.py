"""Requests that two servers could read in two ways, paths that lead elsewhere, and what nobody should find."""

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground

# A request of its own, if it is read as one.
SECOND = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = "POST /v1/schedules:preview HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nKEY\r\n"


def smuggled(tried: str, head: str, body: str, expected: str) -> Attack:
    """Return an attack with this message, through the proxy and directly: how many answers there are, and which."""

    def carry_out(ground: Ground) -> str:
        key = f"Authorization: Bearer {ground.bank}"
        sent = f"{POST.replace('KEY', key)}{head}\r\n{body}".encode("latin-1")
        told = [ground.statuses_raw(sent, where) for where in (ground.proxy, ground.web)]
        return f"the proxy: {told[0]}; the API: {told[1]}"

    return Attack(tried, expected, carry_out)


CLOSE = "Connection: close\r\n"
ONE_EACH = "the proxy: 400; the API: 400"
LENGTH = f"Content-Length: {len(SECOND)}\r\n"
SMUGGLED = (
    smuggled(
        "Content-Length and Transfer-Encoding",
        f"{LENGTH}Transfer-Encoding: chunked\r\n",
        f"0\r\n\r\n{SECOND}",
        ONE_EACH,
    ),
    smuggled(
        "Transfer-Encoding and Content-Length",
        f"Transfer-Encoding: chunked\r\n{LENGTH}",
        f"0\r\n\r\n{SECOND}",
        ONE_EACH,
    ),
    smuggled("Two Content-Length that differ", f"Content-Length: 0\r\n{LENGTH}", SECOND, ONE_EACH),
    smuggled("A list as Content-Length", "Content-Length: 0, 58\r\n", SECOND, ONE_EACH),
    smuggled("A Content-Length with a sign", "Content-Length: +0\r\n", SECOND, ONE_EACH),
    smuggled("A negative Content-Length", "Content-Length: -1\r\n", SECOND, ONE_EACH),
    smuggled("A Content-Length in hexadecimal", "Content-Length: 0x0\r\n", SECOND, ONE_EACH),
    smuggled(
        "A Content-Length of 30 digits",
        f"Content-Length: {'9' * 30}\r\n",
        SECOND,
        "the proxy: 400; the API: 413",
    ),
    smuggled("A space before the colon", "Content-Length : 0\r\n", SECOND, ONE_EACH),
    smuggled(
        "An unknown Transfer-Encoding",
        "Transfer-Encoding: xchunked\r\n",
        f"0\r\n\r\n{SECOND}",
        "the proxy: 501; the API: 400",
    ),
    smuggled(
        "Transfer-Encoding twice",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        f"0\r\n\r\n{SECOND}",
        ONE_EACH,
    ),
    smuggled(
        "chunked, not as the last coding",
        "Transfer-Encoding: chunked, gzip\r\n",
        f"0\r\n\r\n{SECOND}",
        "the proxy: 501; the API: 400",
    ),
    smuggled(
        "A tab before chunked",
        "Transfer-Encoding:\tchunked\r\nX: y\r\n",
        "0\r\n\r\n",
        "the proxy: 501; the API: 400",
    ),
    smuggled("A folded header", "X-A: b\r\n Transfer-Encoding: chunked\r\n", f"0\r\n\r\n{SECOND}", ONE_EACH),
    smuggled("A chunk's size with a sign", "Transfer-Encoding: chunked\r\n", f"+0\r\n\r\n{SECOND}", ONE_EACH),
    smuggled("A chunk's size with 0x", "Transfer-Encoding: chunked\r\n", f"0x0\r\n\r\n{SECOND}", ONE_EACH),
    smuggled(
        "A chunk that is longer than its size",
        "Transfer-Encoding: chunked\r\n",
        f"1\r\n{{}}\r\n0\r\n\r\n{SECOND}",
        ONE_EACH,
    ),
    smuggled(
        "A trailer without a colon",
        f"Transfer-Encoding: chunked\r\n{CLOSE}",
        "0\r\nnocolon\r\n\r\n",
        ONE_EACH,
    ),
    smuggled(
        "A Content-Length as a trailer",
        f"Transfer-Encoding: chunked\r\n{CLOSE}",
        "0\r\nContent-Length: 5\r\n\r\n",
        ONE_EACH,
    ),
    smuggled("A NUL in a header", "X-A: b\0c\r\nContent-Length: 2\r\n", "{}", ONE_EACH),
    smuggled(
        "A carriage return in a header",
        "X-A: b\rContent-Length: 58\r\nContent-Length: 0\r\n",
        SECOND,
        ONE_EACH,
    ),
    smuggled("An underscore in Content_Length", "Content_Length: 58\r\nContent-Length: 0\r\n", "", ONE_EACH),
    smuggled("An Expect that nobody knows", "Expect: 200-ok\r\nContent-Length: 2\r\n", "{}", ONE_EACH),
)

# With a key of the bank, of which none may be answered as what it hides.
PATHS = (
    "/v1//timers", "/v1/./timers", "/v1/timers/../apps", "/v1/timers/..%2fapps", "/v1/%2e%2e/v1/apps",
    "/v1/timers/%00", "/v1/timers;a=b", "/V1/TIMERS", "/v1/timers/", "//evil.example/v1/timers", "/v1/timers%0d%0aX:y",
    "/v1/timers/key:a%0d%0ab", "//evil.example//v1/timers", "//evil.example/%2f/v1//timers",
    "/v1/timers/key:%2e%2e%2f", "/docs/assets/..%2f..%2fsettings.py",
    "/docs/assets/../../settings.py", "/docs/assets/%2e%2e/%2e%2e/settings.py", "/docs/assets//etc/passwd",
    "/docs/assets/..%5c..%5csettings.py",
)  # fmt: skip
NOBODYS = (
    "/.env", "/.git/config", "/admin", "/console", "/debug", "/actuator/env", "/server-status", "/static/settings.py",
    "/v0/timers", "/v2/timers", "/api/timer/v2/defs", "/api/timer/v1/defs.json", "/swagger", "/graphql", "/flower",
    "/.well-known/security.txt", "/backup.sql", "/phpinfo.php",
)  # fmt: skip


def _answered(ground: Ground, path: str, where: str) -> str:
    answer = ground.ask("GET", path, ground.bank, at=where)
    if "class Settings" in answer.text or "root:x:" in answer.text:
        return "A FILE"
    location = answer.headers.get("location", "")
    return f"{answer} to {location.replace(where, 'HOST')}" if location else str(answer)


NOT_THERE = "the proxy: 404 40402; the API: 404 40402"
OTHERWISE = {
    "/v1//timers": "the proxy: 308 to http://HOST/v1/timers; the API: 308 to http://HOST/v1/timers",
    "/v1/timers/%00": "the proxy: 400; the API: 400 40007",
    "/v1/timers/key:a%0d%0ab": "the proxy: 404 40401; the API: 404 40401",
    "/docs/assets//etc/passwd": "the proxy: 308 to http://HOST/docs/assets/etc/passwd; "
    "the API: 308 to http://HOST/docs/assets/etc/passwd",
}


def by_path(path: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        told = [_answered(ground, path, where) for where in (ground.proxy, ground.web)]
        return f"the proxy: {told[0]}; the API: {told[1]}"

    return Attack(f"`GET {path}`", OTHERWISE.get(path, NOT_THERE), carry_out)


def _nobodys(ground: Ground) -> str:
    return summed(ground.ask("GET", path, ground.operator) for path in NOBODYS)


def _methods(ground: Ground) -> str:
    told = [
        ground.statuses_raw(
            f"{method} /v1/timers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(), where
        )
        for method in ("TRACE", "CONNECT", "PROPFIND", "PURGE", "get", "G\tET")
        for where in (ground.proxy, ground.web)
    ]
    return f"{sum(one.startswith('2') for one in told)} of {len(told)} succeed"


def _below(ground: Ground) -> str:
    """gunicorn takes these headers of whoever connects from its machine, if it is not told otherwise."""
    sent = b"GET /public/healthz HTTP/1.1\r\nHost: localhost\r\nSCRIPT_NAME: /public\r\nConnection: close\r\n\r\n"
    told = [ground.statuses_raw(sent, where) for where in (ground.proxy, ground.web)]
    return f"the proxy: {told[0]}; the API: {told[1]}"


def _hints(ground: Ground) -> str:
    """A server that says its version says which weakness to try."""
    said = []
    for where in (ground.proxy, ground.web):
        for path in ("/healthz", "/nothing", "/v1/timers"):
            answer = ground.ask("GET", path, at=where)
            said += [
                value for name, value in answer.headers.items() if name in ("server", "x-powered-by", "via")
            ]
    versions = [one for one in said if any(letter.isdigit() for letter in one)]
    return f"{len(versions)} versions of servers"


SECTION = Section(
    "Smuggled requests and paths",
    ("API8", "API9"),
    "Each message is sent to the proxy and to the API itself, and all statuses of answers are listed. A second answer "
    "would mean that a request was hidden in the body of another one. "
    "A path must be answered by no operation but its own.",
    (
        *SMUGGLED,
        *map(by_path, PATHS),
        Attack(
            f"{len(NOBODYS)} paths where other systems keep their secrets, or older operations",
            "404 40402 of each",
            _nobodys,
        ),
        Attack("Methods that no operation has: TRACE, CONNECT and others", "0 of 12 succeed", _methods),
        Attack(
            "A path below which the API is to be, as `SCRIPT_NAME`", "the proxy: 404; the API: 404", _below
        ),
        Attack("What servers say of themselves", "0 versions of servers", _hints),
    ),
)
