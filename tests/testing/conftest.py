"""The fixtures that users have, and nothing else: no server is started for these tests."""

from wangtimer.testing import make_wangtimer, wangtimer

__all__ = ["make_wangtimer", "wangtimer"]
