"""The command line: `wangtimer ...`."""

from wangtimer.cli.main import main

__all__ = ["main"]
