"""What the commands of operators share: they look for an operator's key first, and name no app of their own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from wangtimer.cli.terminal.asking import DEFAULT_URL, HINT, Asked, Failed, InDoubt
from wangtimer.client import Client, ClientError, Unreachable
from wangtimer.client.found_key import OPERATOR_KEY_FILE, found_key


def operating(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--url` and `--json`, and an `Asked` with an operator's key as its first argument."""

    @click.option(
        "--url",
        envvar="WANGTIMER_URL",
        show_envvar=True,
        default=DEFAULT_URL,
        show_default=True,
        help="The service's API.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")
    @wraps(command)
    def operate(url: str, as_json: bool, **arguments: Any) -> None:
        try:
            client = Client(url, key=found_key(url, OPERATOR_KEY_FILE) or "")
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        with client:
            try:
                command(Asked(client, as_json, url), **arguments)
            except ClientError as error:
                if error.was_in_doubt:
                    raise InDoubt(str(error)) from error
                raise Failed(f"{error}{HINT if isinstance(error, Unreachable) else ''}") from error

    return operate
