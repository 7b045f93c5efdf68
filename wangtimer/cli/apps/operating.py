"""What the commands of operators share: they look for an operator's key first, and name no app of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from wangtimer.cli.terminal.asking import JSON, URL, carry_out
from wangtimer.client import Client
from wangtimer.client.found_key import OPERATOR_KEY_FILE, found_key


def operating(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--url` and `--json`, and an `Asked` with an operator's key as its first argument."""

    @URL
    @JSON
    @wraps(command)
    def operate(url: str, as_json: bool, **arguments: Any) -> None:
        def client() -> Client:
            return Client(url, key=found_key(url, OPERATOR_KEY_FILE) or "")

        carry_out(command, client, url, as_json, arguments)

    return operate
