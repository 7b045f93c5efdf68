"""A data directory serves one instance at a time, and its socket's path always fits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wangtimer.core.errors import BadSetting, Conflict
from wangtimer.stack.data_directory import LONGEST_SOCKET_PATH, held_directory


def test_a_second_instance_is_refused_with_the_directory_and_the_process(tmp_path: Path) -> None:
    second = (
        "import sys; from pathlib import Path; from wangtimer.core.errors import Conflict\n"
        "from wangtimer.stack.data_directory import held_directory\n"
        "try:\n    held_directory(Path(sys.argv[1])).__enter__()\n"
        "except Conflict as refusal:\n    print(refusal)\n"
    )
    with held_directory(tmp_path / "data"):
        run = subprocess.run(
            [sys.executable, "-c", second, str(tmp_path / "data")], capture_output=True, text=True, check=True
        )
    assert run.stdout.count("\n") == 1
    assert f"{tmp_path / 'data'} is in use by process {os.getpid()};" in run.stdout


def test_the_directory_is_free_again_after_the_instance(tmp_path: Path) -> None:
    with held_directory(tmp_path):
        pass
    with held_directory(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_the_directory_stays_held_while_a_child_keeps_the_lock_open(tmp_path: Path) -> None:
    with held_directory(tmp_path) as held:
        server = subprocess.Popen(["sleep", "60"], pass_fds=(held.lock,))
    with pytest.raises(Conflict), held_directory(tmp_path):
        pass
    server.kill()
    server.wait()
    with held_directory(tmp_path):
        pass


def test_a_directory_that_cannot_be_made_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match="Not a directory; name another one with --data-dir"):
        held_directory(tmp_path / "file" / "data").__enter__()


@pytest.mark.parametrize("name", ["data", "x" * 120, "what?", "a b"])
def test_the_socket_s_path_fits_and_is_gone_afterwards(tmp_path: Path, name: str) -> None:
    with held_directory(tmp_path / name) as held:
        socket = held.directory.socket
        assert len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH
        assert socket.parent.is_dir()
    assert name == "data" or not socket.parent.exists()
