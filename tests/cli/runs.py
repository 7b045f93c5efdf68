"""The command line, run in this process."""

import json
from collections.abc import Callable
from typing import Any

from click.testing import CliRunner, Result

from wangtimer.cli.main import commands

Run = Callable[..., Result]


def runner_of(url: str, app: str | None = "shop") -> Run:
    """Return what runs `wangtimer ...` against a service, for an app or (None) all of them."""
    environment = {"WANGTIMER_URL": url, "WANGTIMER_APP": app}

    def run(*arguments: object, **options: Any) -> Result:
        return CliRunner(env=environment).invoke(commands, [str(one) for one in arguments], **options)

    return run


def json_of(result: Result) -> Any:
    """Return what a command printed as JSON, having ended well."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
