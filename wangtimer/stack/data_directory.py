"""The data directory of the embedded default, and the lock that lets only one instance use it."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wangtimer.core.errors import BadSetting, Conflict
from wangtimer.stack.supervisor import wait_for

# A Unix socket's path takes 108 bytes with its closing zero.
LONGEST_SOCKET_PATH = 107

# The file in which processes that do not hold the directory find the socket's path.
SOCKET_NAMED_IN = "socket"

# After a SIGKILL of the last instance, its Valkey holds the lock for some more ms.
LOCK_SECONDS = 1.0

# The name of the database in it.
DATABASE = "wangtimer.db"


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """Where everything of one embedded instance lies."""

    path: Path
    socket: Path

    @property
    def database_url(self) -> str:
        """SQLAlchemy's URL of the SQLite file."""
        return f"sqlite:///{self.path / DATABASE}"

    @property
    def store_url(self) -> str:
        """redis-py's URL of the store."""
        return f"unix://{self.socket}?db=0"

    @property
    def broker_url(self) -> str:
        """Kombu's URL of the broker."""
        return f"redis+socket://{self.socket}?virtual_host=1"

    @property
    def settings(self) -> dict[str, str]:
        """The settings by which processes find SQL, store and broker."""
        return {
            "WANGTIMER_DATABASE_URL": self.database_url,
            "WANGTIMER_STORE_URL": self.store_url,
            "WANGTIMER_BROKER_URL": self.broker_url,
        }

    @property
    def key_file(self) -> Path:
        """The file of the app's key."""
        return self.path / "key"

    @property
    def operator_key_file(self) -> Path:
        """The file of the operator's key."""
        return self.path / "operator-key"

    @property
    def valkey(self) -> Path:
        """Where Valkey keeps its file."""
        return self.path / "valkey"

    @property
    def logs(self) -> Path:
        """The children's output."""
        return self.path / "log"

    @property
    def run(self) -> Path:
        """The files by which children announce themselves."""
        return self.path / "run"


@dataclass(frozen=True, slots=True)
class HeldDirectory:
    """A data directory that only this process may use, as long as `lock` is open here or in a child."""

    directory: DataDirectory
    lock: int


def known_directory(path: Path) -> DataDirectory:
    """Return the directory of an instance that another process runs, or ran last; `BadSetting` if there is none."""
    path = path.absolute()
    try:
        return DataDirectory(path, Path((path / SOCKET_NAMED_IN).read_text()))
    except OSError:
        raise BadSetting(
            f"data directory {path}: wangtimer up has not run there; name another one with --data-dir"
        ) from None


@contextlib.contextmanager
def held_directory(path: Path) -> Iterator[HeldDirectory]:
    """Make and hold the directory. Raises `Conflict` naming another instance that holds it, `BadSetting`."""
    path = path.absolute()
    lock = _open_lock(path)
    try:
        _take(lock, path)
        with _socket_path(path) as socket:
            (path / SOCKET_NAMED_IN).write_text(str(socket))
            yield HeldDirectory(DataDirectory(path, socket), lock)
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadSetting(
            f"data directory {path}: {error.strerror}; name another one with --data-dir"
        ) from None


def _take(lock: int, path: Path) -> None:
    if not wait_for(lambda: _is_taken(lock), LOCK_SECONDS):
        holder = os.pread(lock, 20, 0).decode(errors="replace").strip() or "?"
        raise Conflict(
            "data directory",
            f"{path} is in use by process {holder}",
            "stop that one or name another --data-dir",
        )
    os.truncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _socket_path(path: Path) -> Iterator[Path]:
    socket = path / "valkey.sock"
    if _serves_as_socket(socket):
        yield socket
        return
    elsewhere = tempfile.mkdtemp(prefix="wangtimer-", dir=None if len(tempfile.gettempdir()) < 60 else "/tmp")
    try:
        yield Path(elsewhere, "valkey.sock")
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)


def _serves_as_socket(socket: Path) -> bool:
    # Some URL characters would end the path in the store's and the broker's URLs.
    return len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH and not set("?#%[]@ ") & set(str(socket))
