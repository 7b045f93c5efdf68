"""What the commands of operators share: they look for an operator's key first, and name no app of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from wangtimer.cli.terminal.asking import JSON, URL, carry_out
from wangtimer.client.api_key import OPERATOR_KEY_FILE


def operating(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--url` and `--json`, and an `Asked` with an operator's key as its first argument."""

    @URL
    @JSON
    @wraps(command)
    def operate(url: str, as_json: bool, **arguments: Any) -> None:
        carry_out(command, OPERATOR_KEY_FILE, None, url, as_json, arguments)

    return operate
