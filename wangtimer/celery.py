"""The Celery app: `celery -A wangtimer ...` finds it here; its settings are the top-level `celeryconfig`."""

from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import (
    after_task_publish,
    beat_init,
    before_task_publish,
    celeryd_after_setup,
    setup_logging,
    worker_ready,
)

from wangtimer.base.logs import (
    log_as_lines,
    warn_of_no_secret_keys,
    warn_of_unknown_variables,
    warn_of_unset_database,
)
from wangtimer.base.own_servers import require_egress
from wangtimer.base.settings import read_settings, require_mail_server
from wangtimer.core import fail_points
from wangtimer.core.errors import BadSetting
from wangtimer.core.flow.queues import is_for_callbacks

app = Celery("wangtimer")
app.config_from_object("celeryconfig")


@setup_logging.connect
def _log(loglevel: int | None = None, **_: Any) -> None:
    log_as_lines(loglevel)
    warn_of_unknown_variables()
    warn_of_unset_database(read_settings())


@celeryd_after_setup.connect
def _warn_of_no_keys(**_: Any) -> None:
    """Beat and Flower see no secret, and need no key."""
    warn_of_no_secret_keys(read_settings())


@celeryd_after_setup.connect
def _require_egress(**_: Any) -> None:
    """Start no worker that makes calls unless it can read all it needs, and somebody has chosen where calls may go."""
    if any(map(is_for_callbacks, app.amqp.queues.consume_from)):
        settings = read_settings()
        try:
            require_egress(settings)
            require_mail_server(settings)
            # Each is read now: what is wrong with it would otherwise stop calls, and nobody would see why.
            _read = settings.callback_authorities, settings.named_brokers, settings.mail_server
        except BadSetting as wrong:
            raise SystemExit(f"wangtimer: {wrong}") from None


@worker_ready.connect
@beat_init.connect
def _announce(**_: Any) -> None:
    """Tell a supervisor that this process takes work."""
    ready_file = read_settings().ready_file
    if ready_file is not None:
        Path(ready_file).touch()


@beat_init.connect
def _arm_fail_point(**_: Any) -> None:
    """Let a test kill beat before or after a tick; other processes arm their fail points in `build`."""
    fail_points.arm(read_settings().fail_point)
    if fail_points.is_armed():
        before_task_publish.connect(_before_tick, weak=False)
        after_task_publish.connect(_after_tick, weak=False)


def _before_tick(sender: str, **_: Any) -> None:
    fail_points.before(sender)


def _after_tick(sender: str, **_: Any) -> None:
    fail_points.after(sender)
