"""Finds the API key of this machine's user: what a program need not name."""

import os
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

# What `wangtimer up` writes into its data directory.
APP_KEY_FILE = Path(".wangtimer", "key")
OPERATOR_KEY_FILE = Path(".wangtimer", "operator-key")


def found_key(base_url: str, file: Path = APP_KEY_FILE) -> str | None:
    """Return the key of `WANGTIMER_KEY`, or of the file `WANGTIMER_KEY_FILE`, or of `wangtimer up`; None without any.

    The last is sent to no other machine: `file`, in the working directory, is read for a URL of the loopback alone.
    Raises ValueError where the named file cannot be read.
    """
    if key := os.environ.get("WANGTIMER_KEY", "").strip():
        return key
    if named := os.environ.get("WANGTIMER_KEY_FILE"):
        return key_in_file(Path(named))
    return key_in_file(file) if _is_loopback(base_url) and file.exists() else None


def key_in_file(file: Path) -> str:
    """Return the key in a file, which has it alone or as `Authorization: Bearer wtk_...`; raises ValueError."""
    try:
        words = file.read_text(encoding="utf-8-sig").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the key file {file} cannot be read: {error}") from None
    if not words:
        raise ValueError(f"the key file {file} is empty")
    return words[-1]


def _is_loopback(base_url: str) -> bool:
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
