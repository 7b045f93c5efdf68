"""A receiver that a page shows acts on nothing where a call's body was cut off."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks, name_of, pages
from tests.patience import wait_for
from wangtimer.stack.ports import free_port

# Chinese pages have the same programs.
SHOWN = {
    f"{name_of(page)}:{block.value}": block
    for page in pages()
    for block in blocks(page)
    if block.language == "python" and "self.rfile" in block.text
}
CALL = (
    b"POST /expire HTTP/1.1\r\nHost: x\r\nwebhook-id: 7-1795207483000\r\nContent-Length: 15\r\n\r\n"
    b'{"order": "A1"'
)


def test_there_are_some() -> None:
    assert {place.partition(":")[2] for place in SHOWN} >= {"receiver.py", "points.py", "shop.py", "show.py"}


@pytest.mark.parametrize("place", SHOWN)
def test_it_answers_400(place: str, tmp_path: Path) -> None:
    port = free_port()
    process = started(SHOWN[place], port, tmp_path)
    try:
        assert wait_for(lambda: is_open(port), seconds=20)
        assert answer_to(CALL, port).split()[1:2] == ["400"]
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=20)
    assert "called:" not in output


def started(shown: Block, port: int, folder: Path) -> subprocess.Popen[str]:
    # Where `wangtimer up` leaves it.
    key = folder / ".wangtimer/key"
    key.parent.mkdir()
    key.write_text("Authorization: Bearer wtk_unused\n")
    program = folder / "program.py"
    program.write_text(shown.text.replace("8000", str(port)), encoding="utf-8")
    return subprocess.Popen([sys.executable, program], cwd=folder, stdout=subprocess.PIPE, text=True)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answer_to(request: bytes, port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile(encoding="latin-1").read()
