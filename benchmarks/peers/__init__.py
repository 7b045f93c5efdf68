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

__all__ = ["PEERS", "Peer"]
