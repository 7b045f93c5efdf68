"""docs/sdk.md: its examples run, one after another, against the real service."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.outcomes import fired
from tests.client.served import Served
from tests.in_one import in_one
from wangtimer.client import CallOrder, Client, Conflict, ReceivedCall, receive
from wangtimer.client.filters import OneRound

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
OTHER_NAMES = {
    *inspect.signature(Client).parameters,
    *inspect.signature(Client.create_timer).parameters,
    *OneRound.__annotations__,
    *vars(Conflict({"type": "", "title": "", "status": 409, "detail": "", "code": 40901})),
    "was_in_doubt",
    "in_flight",
    "already_fired",
    "wangtimer_client",
    *vars(receive),
    *ReceivedCall.__annotations__,
    *CallOrder,
}
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_its_examples_run(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    def fire_thrice(client: Client, *_: object) -> None:
        fired(served.world, client.get_timer("key:close-unpaid-orders")["id"], 3)

    monkeypatch.setattr(Client, "_pause", fire_thrice)
    known: dict[str, Any] = {}
    for example in EXAMPLES:
        code = compile(
            example.replace('Client("http://127.0.0.1:5000"', f'Client("{served.url}", "shop"'),
            str(PAGE),
            "exec",
        )
        exec(code, known)
    with Client(served.url, "shop") as client:
        timers = {timer["key"]: timer for timer in client.timers()}
        first = timers.pop("close-unpaid-orders")
        assert (first["status"], first["schedule"].get("cron")) == ("disabled", "0 10 * * 1-5")
        weekly, nightly = timers.pop("weekly-report"), timers.pop("nightly")
        assert (weekly["schedule"].get("dialect"), weekly["status"]) == ("quartz", "disabled")
        assert (nightly["schedule"].get("every"), nightly["status"]) == ("1d", "disabled")
        (remind,) = timers.values()
        assert (remind["deleteAfterFinish"], remind["status"]) == (True, "enabled")
    printed = capsys.readouterr().out
    assert printed.startswith("enabled at 09:00 from Monday to Friday (Asia/Shanghai) ")
    assert "400 40008 /schedule/cron " in printed
    assert "at 09:00 on Tuesdays (Asia/Shanghai) [" in printed
    assert "'quartzWeekday'" in printed
    assert "at 09:00 on Mondays (Asia/Shanghai)" in printed
    assert "counts within 1s" in printed
    assert printed.count(" succeeded ") == 3
    assert "1 done, 0 left, []" in printed
    assert "did you mean Asia/Shanghai" in printed
    assert "expire b'{}' due at 2026-11-20 20:44:43+00:00 attempt 1" in printed


def test_its_examples_hold_to_the_types(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("\n".join(EXAMPLES))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(page)],
        cwd=PAGE.parents[1],
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout


@in_one("name", sorted(set(re.findall(r"`([a-z]+_[a-z_]+)", PAGE.read_text()))))
def test_every_name_it_names_is_there(name: str) -> None:
    assert hasattr(Client, name) or name in OTHER_NAMES
