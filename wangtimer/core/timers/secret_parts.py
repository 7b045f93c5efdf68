"""The secret parts of a timer's call: which they are, what stands in their place, and how they are put back.

Secret are values of headers and query parameters with the name of a secret, and what the owner marked. A *masked*
call has `***` in place of each. Its secrets are apart from it, as a plain value that can be sealed.
"""

import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus

from wangtimer.core.errors import InvalidInput
from wangtimer.core.timers.templates import open_parts
from wangtimer.core.timers.timer import Notify, SecretMarks

# Stands in place of a secret wherever a call is shown.
MASK = "***"
# In any spelling.
_SECRET = re.compile(
    r"auth(?!or)|authori[sz]|cookie|token|secret|pass|pwd|credential|session|signature|bearer|jwt|hmac|saml|key|code"
    r"|(?<![a-z])(?:sig|sign|sid|sas|otp|pin|psk|mac)(?![a-z])",
    re.I,
)
# Headers whose name is like that of a secret, in lower case.
_HARMLESS_HEADERS = frozenset({"idempotency-key"})


@lru_cache(maxsize=1_024)  # few names, asked for in each request and attempt
def is_secret_name(name: str) -> bool:
    """Tell whether a query parameter of this name, percent-decoded, holds a secret."""
    return _SECRET.search(name) is not None


def is_secret_header(name: str) -> bool:
    """Tell whether a header of this name holds a secret."""
    return is_secret_name(name) and name.lower() not in _HARMLESS_HEADERS


# Secrets as JSON can have them: the whole URL, header values with their places, the body; only those there are.
Secrets = dict[str, Any]
# Characters of the shortest secret that is looked for in a target's answer.
LEAST_HIDDEN = 6
# More characters of a secret are not compared: no more of an answer is kept.
MOST_COMPARED = 4_096
# Secrets of a call that are looked for. With more, and after so many places where one of them may begin, nothing of a
# text is shown: else secrets that begin alike, and a target that repeats their beginning, take a tenth of a second.
MOST_LOOKED_FOR = 100
MOST_LOOKS = 400
# Up to so many beginnings it is cheaper to ask first whether one of them occurs.
_FEW_BEGINNINGS = 20
# Stands in the place of secrets that are too many: whatever a text says is hidden.
_ANYTHING = ("",)
# Ends a text that was cut off.
CUT_OFF = "…"
_Headers = tuple[tuple[str, str], ...]
_CALL = "target"


def masked(call: Notify) -> Notify:
    """Return a call with `***` in place of its secrets."""
    return parted(call)[0]


def parted(call: Notify) -> tuple[Notify, Secrets]:
    """Return the masked call, and its secrets; none of them: the call has none, or they are sealed already."""
    if call.sealed:
        return call, {}
    marks = call.marks
    url = masked_url(call.url, marks.query)
    places = [place for place, (name, value) in enumerate(call.headers) if value and _is_secret(name, marks)]
    secrets: Secrets = {} if url == call.url else {"url": call.url}
    if places:
        secrets["headers"] = [[place, call.headers[place][1]] for place in places]
    if marks.body and call.body:
        secrets["body"] = call.body
    if not secrets:
        return call, secrets
    headers = tuple(
        (name, MASK if place in places else value) for place, (name, value) in enumerate(call.headers)
    )
    return call._replace(url=url, headers=headers, body=MASK if "body" in secrets else call.body), secrets


def secret_texts(call: Notify, body_is_base64: bool = False) -> tuple[str, ...]:
    """Return the secrets of a whole call as an answer may repeat them, the longest first.

    Those of a few characters are left out: they occur by chance. Of one with placeholders each part between them is a
    secret: what is filled in is none.
    """
    _, secrets = parted(call)
    values = [value for _, value in secrets.get("headers", ())]
    # Of `Bearer abc` the second word by itself, too.
    texts = [*values, *(value.rpartition(" ")[2] for value in values), secrets.get("body", "")]
    texts += (text for value in values for text in _basic_texts(value))
    if "url" in secrets:
        query = call.url.partition("?")[2]
        pairs = [pair for pair in query.split("&") if call.marks.query or _masked_pair(pair) != pair]
        given = [pair.partition("=")[2] for pair in pairs]
        texts += [*given, *map(unquote_plus, given)]
    # A list: a generator would look at its own parts, too, and of a `{{` that ends nowhere never come to an end.
    texts += [part for text in texts if "{{" in text for part in open_parts(text)]
    if body_is_base64 and "body" in secrets:
        with suppress(ValueError):
            texts.append(b64decode(call.body).decode(errors="replace"))
    found = {text[:MOST_COMPARED] for text in texts if len(text) >= LEAST_HIDDEN}
    if len(found) > MOST_LOOKED_FOR:
        return _ANYTHING
    written = {spelled for text in found for spelled in (text, *_in_json(text))}
    # As a header is read.
    written |= {text.encode(errors="replace").decode("latin-1") for text in found if not text.isascii()}
    return tuple(sorted(written, key=len, reverse=True))


def without(secrets: Sequence[str], text: str) -> str:
    """Return a text with `***` in place of each of these secrets, and of one that is cut off at an end.

    An end is that of the text, and each `…`. It is `***` as a whole where the secrets are too many to look for, or
    may begin at too many places: so it takes about 1 ms at most, whatever they are and the text says.
    """
    if not secrets or not text:
        return text
    if "" in secrets:
        return MASK
    shown, end = "", 0
    for begin, until in _found(_by_beginning(secrets, text), text):
        if until > len(text):
            return MASK
        if begin >= end:
            shown += text[end:begin] + MASK
        end = max(end, until)
    return shown + text[end:]


def has_open_secrets(call: Notify) -> bool:
    """Tell whether the call has a secret that is written out, not as `***`."""
    hidden, secrets = parted(call)
    return bool(secrets) and hidden != call


def whole(call: Notify, secrets: Secrets) -> Notify:
    """Return the call with its secrets in their places."""
    values = dict(map(tuple, secrets.get("headers", ())))
    headers = tuple((name, values.get(place, value)) for place, (name, value) in enumerate(call.headers))
    return call._replace(
        url=secrets.get("url", call.url),
        headers=headers,
        body=secrets.get("body", call.body),
        sealed="",
    )


def masked_url(url: str, whole_query: bool = False) -> str:
    """Return a URL with `***` for its user and password, and for query values that are secret: all, or by name."""
    front, mark, query = url.partition("?")
    scheme, separator, rest = front.partition("://")
    place, slash, path = rest.partition("/")
    _, at, host = place.rpartition("@")
    front = f"{scheme}{separator}{MASK}@{host}{slash}{path}" if at else front
    if not query:
        return front + mark
    return f"{front}?{MASK if whole_query else '&'.join(map(_masked_pair, query.split('&')))}"


def unmasked(asked: Notify, was: Notify | None) -> Notify:
    """Return the call that is asked for, with the secrets it had (`was`, whole) in place of each `***`.

    So what an answer showed can be sent back. The n-th value of a header's or parameter's name stands for the n-th it
    had. Raises `InvalidInput` for a `***` for which there is no secret, and where a secret would be shown from now on:
    to take a mark away, the value has to be given anew.
    """
    if was is None and not may_have_masks(asked):
        return asked
    marks, old = asked.marks, Notify("") if was is None else was
    headers = tuple(_unmasked_headers(asked.headers, old.headers, marks, old.marks))
    return asked._replace(
        url=_unmasked_url(asked, old), headers=headers, body=_unmasked_body(asked, old), sealed=""
    )


def _basic_texts(value: str) -> Iterable[str]:
    """Return what Basic credentials say: the user with the password, and the password."""
    scheme, _, encoded = value.strip().partition(" ")
    if scheme.lower() != "basic":
        return ()
    try:
        pair = b64decode(encoded.strip()).decode()
    except ValueError:
        return ()
    return pair, pair.partition(":")[2]


def _in_json(text: str) -> tuple[str, str]:
    """Return the text as it stands within a JSON string: in ASCII, and with its own characters."""
    return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]


def _by_beginning(secrets: Sequence[str], text: str) -> dict[str, list[str]]:
    """Return secrets by their first characters; those whose beginning the text does not have may be left out."""
    found: dict[str, list[str]] = {}
    for secret in secrets:
        found.setdefault(secret[:LEAST_HIDDEN], []).append(secret)
    if len(found) > _FEW_BEGINNINGS:
        return found
    return {beginning: alike for beginning, alike in found.items() if beginning in text}


def _found(looked_for: Mapping[str, Sequence[str]], text: str) -> Iterator[tuple[int, int]]:
    """Yield where the text has a secret, and where before an end it has the beginning of one, by their places.

    A place behind the text ends it: there are too many places to look at.
    """
    looks, cut = 0, -1
    for at in range(len(text) - LEAST_HIDDEN + 1) if looked_for else ():
        alike = looked_for.get(text[at : at + LEAST_HIDDEN])
        if alike is None:
            continue
        looks += len(alike)
        if looks > MOST_LOOKS:
            yield at, len(text) + 1
            return
        if cut < at + LEAST_HIDDEN:
            cut = text.find(CUT_OFF, at + LEAST_HIDDEN)
            cut = len(text) if cut < 0 else cut
        for secret in alike:
            if text.startswith(secret, at):
                yield at, at + len(secret)
            elif len(secret) > cut - at and secret.startswith(text[at:cut]):
                yield at, cut


def keeps_a_secret(asked: Notify, after: Notify) -> bool:
    """Tell whether a `***` of the call that was asked for stands for a secret in the call after it."""
    return (asked.url, asked.headers, asked.body) != (after.url, after.headers, after.body)


def may_have_masks(call: Notify) -> bool:
    """Tell whether a call has `***` where a secret can be, marked or not."""
    return MASK in call.url or call.body == MASK or any(value == MASK for _, value in call.headers)


def _is_secret(name: str, marks: SecretMarks) -> bool:
    return is_secret_header(name) or name.lower() in marks.headers


def _masked_pair(pair: str) -> str:
    name, equals, value = pair.partition("=")
    return f"{name}={MASK}" if value and equals and is_secret_name(unquote_plus(name)) else pair


def _unmasked_headers(
    asked: _Headers, had: _Headers, marks: SecretMarks, old_marks: SecretMarks
) -> Iterator[tuple[str, str]]:
    seen = Counter[str]()
    for name, value in asked:
        low = name.lower()
        number, seen[low] = seen[low], seen[low] + 1
        if value != MASK or not (_is_secret(name, marks) or low in old_marks.headers):
            yield name, value
            continue
        field = f"{_CALL}.headers.{name[:64]}"
        values = [held for other, held in had if other.lower() == low]
        if number >= len(values):
            raise _nothing_masked(field)
        if not _is_secret(name, marks):
            raise _would_be_shown(field)
        yield name, values[number]


def _unmasked_url(asked: Notify, old: Notify) -> str:
    field = f"{_CALL}.url"
    if old.url and asked.url == masked_url(old.url, old.marks.query):
        if old.marks.query and not asked.marks.query and "?" in asked.url:
            raise _would_be_shown(field)
        return old.url
    front, _, query = asked.url.partition("?")
    if query == MASK and (asked.marks.query or old.marks.query):
        had = old.url.partition("?")[2]
        if not had:
            raise _nothing_masked(field)
        if not asked.marks.query:
            raise _would_be_shown(field)
        return f"{front}?{had}"
    if MASK not in query:
        return asked.url
    return (
        f"{front}?{'&'.join(_unmasked_pairs(query.split('&'), old.url.partition('?')[2].split('&'), field))}"
    )


def _unmasked_pairs(asked: Sequence[str], had: Sequence[str], field: str) -> Iterator[str]:
    seen = Counter[str]()
    for pair in asked:
        name, _, value = pair.partition("=")
        number, seen[name] = seen[name], seen[name] + 1
        if value != MASK or not is_secret_name(unquote_plus(name)):
            yield pair
            continue
        pairs = [held for held in had if held.partition("=")[0] == name]
        if number >= len(pairs):
            raise _nothing_masked(field)
        yield pairs[number]


def _unmasked_body(asked: Notify, old: Notify) -> str:
    if asked.body != MASK or not (asked.marks.body or old.marks.body):
        return asked.body
    if not (old.marks.body and old.body):
        raise _nothing_masked(f"{_CALL}.body")
    if not asked.marks.body:
        raise _would_be_shown(f"{_CALL}.body")
    return old.body


def _nothing_masked(field: str) -> InvalidInput:
    return InvalidInput(
        field, f"{MASK} stands for a stored secret, and none is stored there", "write the secret itself"
    )


def _would_be_shown(field: str) -> InvalidInput:
    return InvalidInput(
        field,
        "it is stored as a secret, and would be shown from now on",
        "write its value anew, or leave it marked",
    )
