"""What the embedded default says where it cannot start, or nobody reads it."""

import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wangtimer.cli.admin.up_command import up
from wangtimer.core.errors import BadSetting, Conflict
from wangtimer.stack import embedded
from wangtimer.stack.data_directory import held_directory
from wangtimer.stack.embedded import STREAM_BEHIND, embedded_stack
from wangtimer.stack.ports import HOST, free_port


def refusal_of(folder: Path, port: int) -> BadSetting | Conflict:
    with pytest.raises((BadSetting, Conflict)) as refused, embedded_stack(folder / "data", port, Any):
        pass
    return refused.value


def test_a_directory_in_use_is_named_before_its_ports(tmp_path: Path) -> None:
    port = free_port()
    with held_directory(tmp_path / "data"), socket.create_server((HOST, port)):
        assert "in use by process" in str(refusal_of(tmp_path, port))


def test_a_taken_port_of_consumers_says_that_it_is_theirs(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server((HOST, port + STREAM_BEHIND)):
        said = str(refusal_of(tmp_path, port))
    assert f"port {port + STREAM_BEHIND} of {HOST}, of consumers, the one behind --port: " in said


def test_the_last_port_is_refused_since_consumers_need_the_one_behind() -> None:
    refused = CliRunner().invoke(up, ["--port", "65535"])
    assert refused.exit_code == 2
    assert "65535 is not in the range 1<=x<=65534" in refused.output


def test_it_goes_on_where_who_read_its_output_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", broken)
    embedded._say("beat ended; it is started again")
