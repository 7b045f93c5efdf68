"""gunicorn's settings: `gunicorn --config python:wangtimer.api.gunicorn "wangtimer.api:create_app()"`.

Wrong settings stop the start here, before anything listens.
"""

from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

from wangtimer.api import WIRING
from wangtimer.api.access.gate import warn_of_no_key
from wangtimer.api.http.web_process import LateWiring, share_heaps
from wangtimer.base.logs import (
    log_as_lines,
    warn_of_no_secret_keys,
    warn_of_unknown_variables,
    warn_of_unset_database,
)
from wangtimer.base.loop import Loop
from wangtimer.base.own_servers import require_egress
from wangtimer.base.settings import Settings, read_settings
from wangtimer.core.errors import BadSetting, StoreAway
from wangtimer.stack.child import dying_with
from wangtimer.store.redis.process_marks import TELL_EVERY_S, tell_web


def _settings() -> Settings:
    try:
        settings = read_settings()
        require_egress(settings)
        _brokers = settings.named_brokers
    except BadSetting as wrong:
        raise SystemExit(f"wangtimer: {wrong}") from None
    return settings


_read = _settings()

bind = [address.strip() for address in _read.http_bind.split(",")]
workers = _read.http_workers
worker_class = "wangtimer.api.http.web_worker.WebWorker"
threads = _read.http_threads

# s that an idle connection is kept; it holds no thread. Most load balancers keep one for 60 s. 75 s is longer, so the
# API never closes a connection on which a load balancer is about to send a request.
keepalive = 75
worker_connections = 1_000

# s without a sign of life from a worker's main thread. No request runs in that thread.
timeout = 30
# s that a stopping worker gives its requests: longer than any request (SQL 5 s, twice), shorter than compose's 15 s.
graceful_timeout = 12

# By default gunicorn believes SCRIPT_NAME and PATH_INFO of whoever connects from this machine.
forwarder_headers = ""

# gunicorn's maximum. It has room for all filters of a list at their full length in characters of four bytes.
limit_request_line = 8_190

# The socket would be in a home directory, and a service may have none.
control_socket_disable = True
proc_name = "wangtimer-web"


def on_starting(_server: object) -> None:
    """Warn once, in the master."""
    log_as_lines()
    warn_of_unknown_variables()
    warn_of_unset_database(_read)
    warn_of_no_secret_keys(_read)


def post_fork(server: Any, _worker: object) -> None:
    """End when the master ends, however it ends: a request in flight must not keep an orphan alive."""
    dying_with(server.pid)()
    share_heaps()


def post_worker_init(worker: Any) -> None:
    """Log as every other process does, and be ready for the first request."""
    log_as_lines()
    late = worker.wsgi.extensions[WIRING]
    # Workers are numbered from 1 on, and one line is enough.
    Thread(target=_warm_up, args=(late, worker.age == 1), name="warm-up", daemon=True).start()


def _warm_up(late: LateWiring, is_first: bool) -> None:
    late.warm_up()
    Loop("web-mark", partial(tell_web, late().redis, late().keys), TELL_EVERY_S).start()
    if is_first and _read.auth == "keys":
        with suppress(StoreAway):
            warn_of_no_key(late())
