"""The Celery app: `celery -A wangtimer ...` finds it here; its settings are the top-level `celeryconfig`."""

from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_ready

from wangtimer.logs import log_as_lines
from wangtimer.settings import read_settings

app = Celery("wangtimer")
app.config_from_object("celeryconfig")


@setup_logging.connect
def _log(loglevel: int | None = None, **_: Any) -> None:
    log_as_lines(loglevel)


@worker_ready.connect
@beat_init.connect
def _announce(**_: Any) -> None:
    """Tell a supervisor that this process takes work."""
    ready_file = read_settings().ready_file
    if ready_file is not None:
        Path(ready_file).touch()
