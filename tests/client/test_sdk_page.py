"""docs/sdk.md: its examples run, one after another, against the real service."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from wangtimer.client.fields import TimerFields

from tests.client.served import Served
from wangtimer.client import Client

PAGE = Path(__file__).parents[2] / "docs" / "sdk.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_its_examples_run(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, Any] = {}
    for example in EXAMPLES:
        code = compile(example.replace("http://127.0.0.1:5000", served.url), str(PAGE), "exec")
        exec(code, known)
    with Client(served.url, "shop") as client:
        timers = list(client.timers())
        assert [timer["name"] for timer in timers] == ["close-unpaid-orders", "remind", "weekly-report"]
        assert timers[1].get("deleteAfterFinish")
        assert (timers[2].get("cronDialect"), timers[2]["statusName"]) == ("quartz", "disabled")
        assert client.get_timer(timers[0]["id"])["cron"] == "0 10 * * 1-5"
    printed = capsys.readouterr().out
    assert printed.startswith("at 09:00 from Monday to Friday (Asia/Shanghai) ")
    assert "400 40008 cron cron: " in printed
    assert "at 09:00 on Tuesdays (Asia/Shanghai) [" in printed
    assert "'quartzWeekday'" in printed
    assert "at 09:00 on Mondays (Asia/Shanghai)" in printed
    assert "counts within 1000 ms" in printed
    assert "did you mean Asia/Shanghai?" in printed


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


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z]+_[a-z_]+)", PAGE.read_text()))))
def test_every_name_it_names_is_there(name: str) -> None:
    assert hasattr(Client, name) or name in {
        *TimerFields.__annotations__,
        "was_in_doubt",
        "existing_id",
        "in_flight",
        "already_fired",
    }
