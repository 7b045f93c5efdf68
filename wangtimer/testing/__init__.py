"""WangTimer for your tests: the real API and stages in the test's own process, on a clock that the test moves.

    with WangTimer(start="2027-03-01T09:00:00", timezone="Europe/Berlin") as wangtimer:
        wangtimer.client ...  # make timers by the SDK
        wangtimer.advance(hours=3)
        wangtimer.calls  # what was called meanwhile

With pytest, `pytest_plugins = ["wangtimer.testing"]` in the conftest.py at the root of your tests brings the fixtures
`wangtimer` and `make_wangtimer`.
"""

from importlib.util import find_spec
from typing import Any

from wangtimer.testing.in_process import WangTimer
from wangtimer.testing.targets import Answer, MadeCall

__all__ = ["Answer", "MadeCall", "WangTimer"]

# Only the fixtures need pytest; the service is installed without it.
if find_spec("pytest") is not None:
    from wangtimer.testing.fixtures import make_wangtimer, wangtimer

    __all__ += ["make_wangtimer", "wangtimer"]


def __getattr__(name: str) -> Any:
    if name in ("make_wangtimer", "wangtimer"):
        raise ModuleNotFoundError(
            f"the fixture {name} needs pytest: pip install pytest, or use WangTimer without it", name="pytest"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
