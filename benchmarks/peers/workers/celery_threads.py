"""One Celery worker process with the threads pool."""

import argparse

from celery import signals

from benchmarks.due import Due
from benchmarks.peers.celery_eta import TASK, celery_app
from benchmarks.peers.http_call import CALLERS
from benchmarks.peers.parts import say_ready

_QUIET = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=ERROR"]


def main() -> None:
    """Work as one worker process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("redis_url")
    parser.add_argument("target_url")
    parser.add_argument("--name")
    parser.add_argument("--threads")
    parser.add_argument("--client", choices=CALLERS)
    parser.add_argument("--no-ack-emulation", action="store_true")
    chosen = parser.parse_args()
    app = celery_app(chosen.redis_url, ack_emulation=not chosen.no_ack_emulation)
    call = CALLERS[chosen.client](chosen.target_url)

    def make_call(id_: int, at_ms: int) -> None:
        call(Due(id_, at_ms))

    app.task(make_call, name=TASK)
    signals.worker_ready.connect(lambda **_: say_ready(), weak=False)
    app.worker_main(
        ["worker", "--pool=threads", f"--concurrency={chosen.threads}", f"--hostname={chosen.name}", *_QUIET]
    )


if __name__ == "__main__":
    main()
