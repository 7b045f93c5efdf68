"""No single call into a C library takes long, whatever a client sent: no thread of the process runs meanwhile.

Each row of the table in docs/decisions/0061 has the largest input of its kind here.
"""

import re
import ssl
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.cpu_time import cpu_s, machine_factor
from tests.certificates import der, diffie_hellman_key, rsa_pair, self_signed, with_diffie_hellman, with_name
from wangtimer.api import create_app
from wangtimer.api.http.notify_rules import MOST_URL_CHARACTERS, check_url
from wangtimer.api.http.reading import MOST_BODY_BYTES, MOST_DIGITS, MOST_PARTS, read_object
from wangtimer.api.http.refusals import Refused
from wangtimer.api.timer_terms.timer_reading import refuse_bad_form
from wangtimer.api.v1.certificate_routes import MOST_PEM_CHARACTERS
from wangtimer.api.v1.timers.batch_create import MOST_BATCH_BYTES
from wangtimer.callback.client_certificate import MOST_KEY_CHARACTERS, BadKey, facts_of_all, read_pair
from wangtimer.core.cron.cron_fields import MAX_LENGTH as CRON_CHARACTERS
from wangtimer.core.egress.egress_rules import read_item
from wangtimer.core.time.zones import read_zone
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.timer import Notify
from wangtimer.stream import stream_app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/decisions/0061-no-call-into-c-takes-long.md"
# s of this thread's CPU.
MOST_S = 0.3
# Of one expression over `LETTERS` characters: what is not linear takes longer.
MOST_OF_AN_EXPRESSION_S, LETTERS = 0.003, 1_500

# What reads few letters, by a part of its module's name: a cron expression; a duration, of ten parts at most.
SHORT = {"cron": CRON_CHARACTERS, "durations": 270}

MINE = self_signed("CN=shop", datetime.now(UTC) + timedelta(days=30))


def json_of(value: bytes, number: int) -> bytes:
    return b'{"a":[' + b",".join([value] * number) + b"]}"


def refused(work: Callable[[], object], *errors: type[Exception]) -> Callable[[], object]:
    def carry_out() -> None:
        with pytest.raises(errors):
            work()

    return carry_out


def _long_name() -> Callable[[], object]:
    part = der(0x31, der(0x30, bytes.fromhex("0603550403"), der(0x0C, b'a,+"b')))
    pem = with_name(MINE, der(0x30, part * 850))
    assert MOST_PEM_CHARACTERS * 0.9 < len(pem) <= MOST_PEM_CHARACTERS
    return lambda: facts_of_all(pem)


def _keys() -> Callable[[], object]:
    long = rsa_pair(2**521 - 1, 2**3_570 + 3)
    foreign = diffie_hellman_key(9_941)
    assert len(long.key) <= MOST_KEY_CHARACTERS

    def both() -> None:
        refused(lambda: read_pair(*long, 0), BadKey)()
        refused(lambda: read_pair(long.chain, foreign, 0), BadKey)()

    return both


def _texts() -> Callable[[], object]:
    escapes = b'{"a":"' + b"\\u00e9" * ((MOST_BATCH_BYTES - 20) // 6) + b'"}'
    return lambda: read_object(escapes)


WORK: dict[str, Callable[[], Callable[[], object]]] = {
    "certificates": _long_name,
    "private keys": _keys,
    "JSON: lists and texts": lambda: lambda: read_object(json_of(b"[]", MOST_PARTS - 2)),
    "JSON: escapes": _texts,
    "whole numbers": lambda: lambda: read_object(json_of(b"9" * MOST_DIGITS, 1)),
    "fractions": lambda: lambda: read_object(b'{"a":1.' + b"7" * (MOST_BATCH_BYTES - 20) + b"}"),
    "Base64": lambda: (
        lambda: refuse_bad_form(
            Notify("http://a", body=b64encode(b"a" * (MOST_BODY_BYTES // 4 * 3)).decode()),
            CallForm(body_is_base64=True),
        )
    ),
    "IDNA": lambda: refused(lambda: read_item("\u0301" * 300), ValueError),
    "host names in other scripts": lambda: refused(
        lambda: check_url("http://" + "\u0301" * (MOST_URL_CHARACTERS - 7)), Refused
    ),
    "time zones": lambda: refused(lambda: read_zone("../" * 20_000 + "etc/passwd"), KeyError),
}


@pytest.mark.parametrize("kind", WORK)
def test_the_largest_input_of_each_kind_holds_no_other_thread_up(kind: str) -> None:
    work = WORK[kind]()
    # What else runs here makes it dearer, never cheaper: the cheapest of five tries tells.
    taken: list[float] = []
    while len(taken) < 5:
        taken.append(cpu_s(work))
        if taken[-1] < MOST_S:
            return
    assert min(taken) < MOST_S * machine_factor()


def expressions() -> Iterator[tuple[str, str, "re.Pattern[Any]"]]:
    """Yield the regular expressions of what serves clients, each with its module and name."""
    assert {create_app.__module__, stream_app.__name__} <= sys.modules.keys()
    for module in sorted(name for name in sys.modules if name.startswith("wangtimer.")):
        if not module.startswith(("wangtimer.cli", "wangtimer.stack", "wangtimer.testing")):
            for name, value in list(vars(sys.modules[module]).items()):
                if isinstance(value, re.Pattern):
                    yield module, name, value


def texts_for(pattern: str, letters: int) -> Iterator[str]:
    """Yield long texts of one part again and again: of a letter, or of what stands in the expression."""
    units = set(re.findall(r"[A-Za-z0-9@:,/._ {}<>\"'=#%-]+", pattern)) | set(
        "aA0_ \t\n\r.,:;-+/*%'\"([{<=&\\"
    )
    for unit in sorted(units):
        whole = (unit * letters)[:letters]
        yield from (whole, whole + "!")


def _matched(expression: "re.Pattern[Any]", text: str | bytes, searches: bool) -> Callable[[], object]:
    def work() -> None:
        expression.fullmatch(text)
        if searches:
            expression.findall(text)

    return work


def test_each_regular_expression_takes_time_in_proportion_to_its_text() -> None:
    found, slow, most_s = list(expressions()), set(), MOST_OF_AN_EXPRESSION_S * machine_factor()
    assert len(found) > 50
    for module, name, expression in found:
        source = Path(str(sys.modules[module].__file__)).read_text()
        # Some begin to match at each place of the text.
        searches = re.search(rf"\b{name}\.(search|finditer|findall|sub|split)\(", source) is not None
        letters = next((most for part, most in SHORT.items() if part in module), LETTERS)
        for text in texts_for(str(expression.pattern), letters):
            given = text.encode() if isinstance(expression.pattern, bytes) else text
            work = _matched(expression, given, searches)
            if cpu_s(work) > most_s and min(cpu_s(work) for _ in range(5)) > most_s:
                slow.add((module, name, text[:20]))
                break
    assert not slow


# Who may import what reads text by C code. The client, and the command line, which reads YAML, run on their user's
# machine.
READERS = {
    "cryptography": {"wangtimer/callback/client_certificate.py", "wangtimer/store/seals.py"},
    "gzip": {"wangtimer/api/document/docs_page.py"},
    "zlib": set[str](),
    "yaml": {
        "wangtimer/cli/as_code/core_yaml.py",
        "wangtimer/cli/as_code/timer_files.py",
        "wangtimer/cli/importing/imported.py",
    },
    "decimal": set[str](),
    "fractions": {"wangtimer/client/values.py"},
    "bz2": set[str](),
    "lzma": set[str](),
    "pickle": set[str](),
    "xml": set[str](),
}


def test_nothing_else_reads_what_clients_send_by_such_a_library() -> None:
    """Whoever adds one gives it a bound, a row of the page and of the test above."""
    importing = re.compile(rf"^(?:import|from) ({'|'.join(READERS)})\b(?! import crc32$)", re.MULTILINE)
    found: dict[str, set[str]] = {name: set() for name in READERS}
    for file in sorted((ROOT / "wangtimer").rglob("*.py")):
        for name in importing.findall(file.read_text()):
            found[name].add(str(file.relative_to(ROOT)))
    assert found == READERS


def test_the_page_has_a_row_for_each() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text(), re.MULTILINE)[1:]
    assert sorted(rows) == sorted([*WORK, "regular expressions", "zlib", "YAML"])


def test_a_certificate_of_a_target_with_a_long_key_is_read_at_once() -> None:
    """The standard library does not judge its primes."""
    pem = with_diffie_hellman(MINE, 9_941)
    assert cpu_s(lambda: ssl.create_default_context(cadata=pem)) < MOST_S * machine_factor()
