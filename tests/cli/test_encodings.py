"""Output into a pipe or file that does not have all signs, and input from editors that begin with a mark."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from wangtimer.cli.main import main
from wangtimer.client.api_key import key_in_file

ENCODINGS = ["cp1252", "gbk", "ascii", "utf-8"]


class Piped:
    """`wangtimer ...` with its output in a pipe of this encoding; `out` and `err` are the bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
        self._monkeypatch, self._encoding = monkeypatch, encoding

    def __call__(self, *words: object) -> tuple[int, bytes, bytes]:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=self._encoding) for _ in range(2)]
        self._monkeypatch.setattr(sys, "argv", ["wangtimer", *map(str, words)])
        self._monkeypatch.setattr(sys, "stdout", streams[0])
        self._monkeypatch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *(written(stream) for stream in streams)


def written(stream: Any) -> bytes:
    stream.flush()
    raw: bytes = stream.buffer.getvalue()
    return raw


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, encoding: str) -> Piped:
    return Piped(monkeypatch, encoding)


def test_signs_that_a_pipe_does_not_have_are_escaped(piped: Piped) -> None:
    code, out, _ = piped("cron", "0 9 * * *")
    assert (code, b"at 09:00 every day (UTC)" in out) == (0, True)


def test_json_in_a_pipe_is_json_whatever_its_encoding(piped: Piped, encoding: str) -> None:
    code, out, _ = piped("cron", "--json", "0 9 * * *")
    assert (code, json.loads(out.decode(encoding))["words"]["zh"]) == (0, "每天 09:00（UTC 时间）")


def test_a_file_of_timers_is_utf_8_in_any_pipe(piped: Piped, tmp_path: Path) -> None:
    tab = tmp_path / "tab"
    tab.write_text("0 9 * * * /srv/报表😀.sh\n", encoding="utf-8")
    words = ("import", "crontab", tab, "--timezone", "UTC", "--target-url", "https://x.example/{name}")
    code, out, told = piped(*words)
    assert (code, b"1 of 1 entries become timers" in told) == (0, True)
    (made,) = yaml.safe_load(out.decode())
    assert made["target"]["json"] == {"command": "/srv/报表😀.sh"}


def test_trouble_with_such_a_name_is_a_line_and_no_stack_trace(piped: Piped) -> None:
    code, _, told = piped("apply", "-f", "不存在.yaml")
    assert (code, b"No such file" in told, b"Traceback" in told) == (1, True, False)


def test_a_key_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("Authorization: Bearer wtk_1\n", encoding="utf-8-sig")
    assert key_in_file(tmp_path / "key") == "wtk_1"
    (tmp_path / "key").write_text("wtk_1", encoding="utf-8-sig")
    assert key_in_file(tmp_path / "key") == "wtk_1"
