"""The key file that `wangtimer up` makes for itself in its data directory."""

import os
from pathlib import Path

from wangtimer.core.secret_keys import new_secret_key
from wangtimer.settings import read_settings

NAME = "secret.keys"
FIRST_ID = "k1"


def own_key_setting(directory: Path) -> dict[str, str]:
    """Return the setting that names the directory's key file, made where it is missing; none if keys are set.

    Raises `BadSetting`.
    """
    if read_settings().secret_key_ring:
        return {}
    return {"WANGTIMER_SECRET_KEYS_FILE": str(_with_key(directory / NAME))}


def _with_key(path: Path) -> Path:
    """Return the path of a key file; one that is not there is made, readable by its owner only."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path
    with os.fdopen(file, "w") as written:
        written.write(
            "# Secrets of timers are encrypted with the first key. Without it they are lost: keep a copy.\n"
            f"{new_secret_key(FIRST_ID)}\n"
        )
    return path
