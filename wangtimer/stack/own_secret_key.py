"""The key file that `wangtimer up` makes for itself in its data directory."""

import os
from pathlib import Path

from wangtimer.base.settings import read_settings
from wangtimer.core.errors import BadSetting
from wangtimer.core.secret_keys import new_secret_key
from wangtimer.stack.data_directory import DATABASE

NAME = "secret.keys"
FIRST_ID = "k1"


def own_key_setting(directory: Path) -> dict[str, str]:
    """Return the setting that names the directory's key file, made with the directory; none if keys are set.

    Raises `BadSetting`, also where a database is there without its key file, as after a restore: with another key all
    calls would wait.
    """
    if read_settings().secret_key_ring:
        return {}
    file, database = directory / NAME, directory / DATABASE
    if database.exists() and not file.exists():
        raise BadSetting(
            f"{database} is there, but not {file}, which has the keys of its secrets: put that file back, from where "
            f"the database comes; if it is lost, wangtimer secrets key > {file} makes another"
        )
    return {"WANGTIMER_SECRET_KEYS_FILE": str(_with_key(file))}


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
