"""Other systems that call at a moment, each with several settings, against the same target as ours.

A peer can be started again once it was stopped.
"""

from collections.abc import Sequence

from benchmarks.peers import apscheduler_jobs, bullmq_jobs, celery_eta, rabbitmq_ttl, redis_polling
from benchmarks.peers.peer import Peer

# Each system in each of its settings.
PEERS: Sequence[Peer] = (
    *celery_eta.VARIANTS,
    *bullmq_jobs.VARIANTS,
    *apscheduler_jobs.VARIANTS,
    *rabbitmq_ttl.VARIANTS,
    *redis_polling.VARIANTS,
)

# The setting of each system that drained fastest, when all of them were tried on 2026-11-23 (commit 1b92422c has the
# table). `python -m benchmarks.peers` tries all of them anew.
BEST: Sequence[Peer] = (
    celery_eta.VARIANTS[3],
    bullmq_jobs.VARIANTS[0],
    apscheduler_jobs.VARIANTS[1],
    rabbitmq_ttl.VARIANTS[3],
    redis_polling.VARIANTS[3],
)

__all__ = ["BEST", "PEERS", "Peer"]
