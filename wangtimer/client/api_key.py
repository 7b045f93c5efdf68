"""The API key of this machine's user: finds it, what a program need not name, and puts it into requests."""

import os
import re
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from requests import PreparedRequest
from requests.auth import AuthBase

# What `wangtimer up` writes into its data directory.
APP_KEY_FILE = Path(".wangtimer", "key")
OPERATOR_KEY_FILE = Path(".wangtimer", "operator-key")
_SENDABLE = re.compile(r"[!-~]{1,255}")


class Bearer(AuthBase):
    """A key as a bearer token. `requests` would replace a header by a password for the host in `~/.netrc`."""

    def __init__(self, key: str) -> None:
        if not _SENDABLE.fullmatch(key):
            raise ValueError("the API key has a character that no key has; copy it whole, as in wtk_...")
        self._header = f"Bearer {key}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Return the request with the key."""
        request.headers["Authorization"] = self._header
        return request


def found_key(base_url: str, file: Path = APP_KEY_FILE) -> str | None:
    """Return the key of `WANGTIMER_KEY`, or of the file `WANGTIMER_KEY_FILE`, or of `wangtimer up`; None without any.

    The last is sent to no other machine: `file`, in the working directory, is read for a URL of the loopback alone.
    Raises ValueError where the named file cannot be read.
    """
    if key := os.environ.get("WANGTIMER_KEY", "").strip():
        return key
    if named := os.environ.get("WANGTIMER_KEY_FILE"):
        return key_in_file(Path(named))
    return key_in_file(file) if is_loopback(urlsplit(base_url).hostname or "") and file.exists() else None


def key_in_file(file: Path) -> str:
    """Return the key in a file, which has it alone or as `Authorization: Bearer wtk_...`; raises ValueError."""
    try:
        words = file.read_text(encoding="utf-8-sig").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the key file {file} cannot be read: {error}") from None
    if not words:
        raise ValueError(f"the key file {file} is empty")
    return words[-1]


def is_loopback(host: str) -> bool:
    """Tell whether a host, by its name or address, is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
