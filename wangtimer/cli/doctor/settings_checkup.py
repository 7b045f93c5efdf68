"""The check-up of the environment's variables."""

from collections.abc import Iterator

from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.client.api_key import is_loopback
from wangtimer.settings import Settings, unknown_variables

PART = Part("settings")


def check_variables() -> Iterator[Finding]:
    """Yield a warning for each variable that looks like a setting but is not one of this version."""
    for name in unknown_variables():
        mend = "remove it, or use one that wangtimer settings lists; a setting of a newer version is ignored here"
        yield PART.warning(f"{name} is not a setting of this version", mend)


def check_bind(http_bind: str) -> Iterator[Finding]:
    """Yield a warning for each address of the API that other machines can reach, perhaps without a proxy."""
    for address in map(str.strip, http_bind.split(",")):
        if address.startswith(("unix:", "fd://")) or is_loopback(address.rpartition(":")[0].strip("[]")):
            continue
        mend = "put a proxy in front that reads requests whole; see docs/how-to/secure.md"
        yield PART.warning(f"WANGTIMER_HTTP_BIND is {address}: slow clients hold its threads", mend)


def check_secret_keys(settings: Settings) -> Iterator[Finding]:
    """Yield a warning where no timer with a secret can be stored."""
    if not settings.secret_key_ring:
        mend = "set WANGTIMER_SECRET_KEYS_FILE, then run wangtimer secrets rotate; see docs/how-to/secure.md"
        found = "there is no key for secrets: timers with secrets are refused, signing secrets not encrypted"
        yield PART.warning(found, mend)
