"""Logs: one line an event, a stable event word and its fields, no secrets."""

import logging
import sys

import structlog

from wangtimer.base.settings import Settings, unknown_variables

log = structlog.get_logger()


def log_as_lines(level: int | None = None) -> None:
    """Send every log of this process to stderr, a JSON line each."""
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(),
        ],
    )
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level or logging.WARNING)


def warn_of_unknown_variables() -> None:
    """Log in one line which variables look like settings that this version does not have; call it once a process."""
    unknown = unknown_variables()
    if unknown:
        log.warning("unknown_settings", variables=unknown, mend="wangtimer settings lists what there is")


def warn_of_unset_database(settings: Settings) -> None:
    """Log in one line which file serves as database if none is set: each machine then has its own."""
    file = settings.unset_database
    if file is not None:
        mend = "set WANGTIMER_DATABASE_URL; SQLite serves one machine only"
        log.warning("database_not_set", file=str(file), mend=mend)


def warn_of_no_secret_keys(settings: Settings) -> None:
    """Log in one line that no timer with a secret can be stored, where no key is set."""
    if not settings.secret_key_ring:
        what = "timers with secrets are refused, signing secrets not encrypted"
        mend = (
            "`wangtimer secrets key` makes a key; set WANGTIMER_SECRET_KEYS_FILE in all processes, then run "
        )
        log.warning("no_secret_keys", what=what, mend=f"{mend}`wangtimer secrets rotate`")
