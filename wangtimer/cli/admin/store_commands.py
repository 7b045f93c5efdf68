"""`wangtimer store ...` and `wangtimer lanes`: what an operator asks of Redis, or does there, by hand."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import click
from celery import Celery
from kombu.exceptions import OperationalError
from redis.exceptions import NoPermissionError

from wangtimer.base.broker import ANSWER_WITHIN_S, Broker, redis_url
from wangtimer.base.settings import Settings, read_settings
from wangtimer.cli.terminal.asking import JSON, Failed
from wangtimer.cli.terminal.once import OnceCommand, OnceGroup
from wangtimer.cli.terminal.output import Columns, show_line, show_rows
from wangtimer.core.time.moment_text import show_moment
from wangtimer.store.redis.by_hand import delete_all, refusals
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import stream_listeners
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.process_marks import web_runs

ACCOUNT = "; name the URLs of the account `operator` (deploy/make-accounts), or of one that may do everything"


@click.group(cls=OnceGroup)
def store() -> None:
    """The two Redis servers, as the settings name them; with the account `operator`."""


@store.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Delete what the store and the broker have of this deployment. SQL has the truth, and fills them again.

    Other programs' keys and queues stay. It is refused while processes run. Outcomes that wait in the store while SQL
    is away are lost: their calls are made again.
    """
    with _by_hand():
        settings, app = _settings_and_app()
        require_stopped(settings, app)
        if not yes:
            click.confirm(
                f"Delete all keys {settings.key_prefix}:* of the store, and the queues?", abort=True
            )
        with closing(RedisConnection(settings.store_url)) as redis:
            deleted = delete_all(redis, settings.key_prefix)
        messages = Broker(app).purge(queue.name for queue in app.conf.task_queues)
    show_line(f"{deleted} keys of the store and {messages} messages of the broker deleted")


@store.command("refusals")
@JSON
def show_refusals(as_json: bool) -> None:
    """Show what the two servers refused to accounts (ACL LOG), the newest of each server first."""
    with _by_hand():
        settings, found = read_settings(), list[dict[str, Any]]()
        for server, url in (("store", settings.store_url), ("broker", redis_url(settings.broker_url))):
            if url is not None:
                with closing(RedisConnection(url)) as redis:
                    found += [
                        {
                            "server": server,
                            "account": refusal.account,
                            "what": refusal.what,
                            "kind": refusal.kind,
                            "times": refusal.times,
                            "secondsAgo": refusal.age_s,
                        }
                        for refusal in refusals(redis)
                    ]
    columns: Columns[dict[str, Any]] = {
        "server": "server",
        "account": "account",
        "refused": "what",
        "kind": "kind",
        "times": "times",
        "last, s ago": lambda refusal: f"{refusal['secondsAgo']:.0f}",
    }
    show_rows(found, columns, as_json)


@click.command(cls=OnceCommand)
@JSON
def lanes(as_json: bool) -> None:
    """List the lanes: for what firings wait, and how many, the fullest first.

    `in SQL from`: later firings of the lane wait in SQL alone, and come into Redis as there is room.
    """
    with _by_hand():
        # Imported here, as it takes half a second.
        from wangtimer.wiring import build

        found = [
            {
                "lane": row.lane.key,
                "waiting": row.waiting,
                "inSqlFrom": None if row.rest_from is None else show_moment(row.rest_from),
            }
            for row in build(*_settings_and_app()).lanes.listed()
        ]
    show_rows(found, {"lane": "lane", "waiting": "waiting", "in SQL from": "inSqlFrom"}, as_json)


def require_stopped(settings: Settings, app: Celery) -> None:
    """Raise `Failed` if a process runs: one answers by the broker or left its mark, or neither can be asked."""
    with _by_hand(), closing(RedisConnection(settings.store_url)) as redis:
        running = sorted(app.control.inspect(timeout=ANSWER_WITHIN_S).ping() or {})
        keys = Keys(settings.key_prefix)
        running += ["stream"] if stream_listeners(redis, keys) else []
        running += ["web"] if not running and web_runs(redis, keys) else []
    if running:
        raise Failed(f"{', '.join(running)} still run; stop every process of the deployment first")


def _settings_and_app() -> tuple[Settings, Celery]:
    settings = read_settings()
    # Imported here, as the import reads the settings.
    from wangtimer.celery import app

    return settings, app


@contextmanager
def _by_hand() -> Iterator[None]:
    """Tell in one line what Redis or the broker refuses."""
    try:
        yield
    except NoPermissionError as error:
        raise Failed(f"{error}{ACCOUNT}") from error
    except (OperationalError, OSError) as error:
        raise Failed(f"broker: {error}") from error
