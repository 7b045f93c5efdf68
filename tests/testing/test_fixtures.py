"""How the fixtures come, and what is said where pytest is missing."""

import subprocess
import sys
from pathlib import Path

WITHOUT_PYTEST = """
import sys
sys.modules["pytest"] = None
import wangtimer.testing
with wangtimer.testing.WangTimer() as made:
    made.client.create_timer(schedule={"delay": "1m"}, target={"url": "http://shop.example/"})
    print(len(made.advance(minutes=1)), "call")
try:
    wangtimer.testing.make_wangtimer
except ModuleNotFoundError as error:
    print(error)
"""


def test_only_the_fixtures_need_pytest(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYTEST], cwd=tmp_path, capture_output=True, text=True, timeout=110
    )
    assert done.stdout.splitlines() == [
        "1 call",
        "the fixture make_wangtimer needs pytest: pip install pytest, or use WangTimer without it",
    ], done.stderr
