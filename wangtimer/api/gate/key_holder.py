"""Which key a request has, and whether it counts; no Flask here, for the stream asks too."""

from collections.abc import Callable

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused
from wangtimer.core.apps.caller import Caller
from wangtimer.core.apps.key_text import PREFIX, KeyText
from wangtimer.core.apps.scopes import Scope
from wangtimer.store.app_directory import KeyRing
from wangtimer.store.sql.apps import FoundKey

HEADER = "Authorization"
SCHEME = "Bearer "
HOW = f"send it as {HEADER}: {SCHEME}wtk_..."
Now = Callable[[], float]
FIRST_KEY = "wangtimer keys create --database --operator NAME"


def written_key(header: str | None, ring: KeyRing) -> KeyText:
    """Return the key in a request's header; raises `Refused`, `StoreAway`."""
    if header is None:
        if not ring.has_any():
            mend = f"there is none yet; an operator makes the first one on the server: {FIRST_KEY}"
            raise refused(ErrorCode.NO_KEY, "an API key is needed", mend)
        raise refused(ErrorCode.NO_KEY, "an API key is needed", HOW)
    if header[: len(SCHEME)].lower() != SCHEME.lower():
        raise refused(ErrorCode.BAD_KEY, "it has no API key as a bearer token", HOW)
    key = KeyText.read(header[len(SCHEME) :].strip())
    if key is None and not header[len(SCHEME) :].strip().startswith(PREFIX):
        raise refused(ErrorCode.BAD_KEY, f"it is no API key of this service: those begin with {PREFIX}", HOW)
    if key is None:
        raise refused(ErrorCode.BAD_KEY, "the API key has a slip, or is cut off", "copy it whole")
    return key


def good_key(written: KeyText, found: FoundKey | None, now: Now) -> FoundKey:
    """Return the stored key if the written one is it, and counts; raises `Refused`, and what `now` raises."""
    if found is None or not written.has(found.key.fingerprint):
        raise refused(ErrorCode.BAD_KEY, "there is no such API key", "ask an operator for a new one")
    refuse_ended(found, now)
    return found


def refuse_ended(found: FoundKey, now: Now) -> None:
    """Raise `Refused` for a key that counts no more; the time (ms UTC) is asked for where the key has an end."""
    key = found.key
    if key.revoked_at is not None:
        raise refused(ErrorCode.KEY_ENDED, f"API key {key.id} was revoked", "ask an operator for a new one")
    if key.expires_at is not None and key.has_expired(int(now())):
        raise refused(ErrorCode.KEY_ENDED, f"API key {key.id} has expired", "ask an operator for a new one")
    if found.is_of_disabled_app:
        raise refused(ErrorCode.APP_DISABLED, f"app {key.app!r} is disabled", "ask an operator")


def with_scope(caller: Caller, scope: Scope) -> Caller:
    """Return the caller if its key has the scope; raises `Refused`."""
    if caller.may(scope):
        return caller
    raise refused(
        ErrorCode.SCOPE_MISSING,
        f"API key {caller.key_id} lacks the scope {scope}",
        f"use a key that has it: {' '.join(sorted(caller.scopes))} is what this one has",
    )


def refused(code: ErrorCode, reason: str, mend: str) -> Refused:
    """Return the refusal of a key."""
    return Refused(code, HEADER, reason, mend, part=Part.HEADER)
