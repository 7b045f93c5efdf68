"""Every workload, in the order of the table."""

from collections.abc import Mapping

from benchmarks.workload import Workload
from benchmarks.workloads.burst import BURST
from benchmarks.workloads.celery_beside import CELERY
from benchmarks.workloads.cold import COLD
from benchmarks.workloads.consumer_crowd import CONSUMERS
from benchmarks.workloads.create import CREATE
from benchmarks.workloads.dense import DENSE, DENSE_5000, DENSE_10000, FLUSHED
from benchmarks.workloads.growth import GROWTH
from benchmarks.workloads.hung import HUNG
from benchmarks.workloads.idle import IDLE
from benchmarks.workloads.limited import LIMITS
from benchmarks.workloads.message_burst import MESSAGES
from benchmarks.workloads.mixed import MIXED
from benchmarks.workloads.outage import OUTAGE
from benchmarks.workloads.peers import PEERS_BESIDE
from benchmarks.workloads.plan import PLAN
from benchmarks.workloads.purge import PURGE
from benchmarks.workloads.scale import SCALE
from benchmarks.workloads.slow_targets import SLOW_TARGETS
from benchmarks.workloads.timely import BRISK, HEAVY, STEADY, TICKING

_ALL: tuple[Workload, ...] = (
    STEADY,
    BRISK,
    TICKING,
    HEAVY,
    BURST,
    MIXED,
    COLD,
    SLOW_TARGETS,
    OUTAGE,
    *HUNG,
    *LIMITS,
    PLAN,
    PURGE,
    DENSE,
    DENSE_5000,
    DENSE_10000,
    FLUSHED,
    CREATE,
    GROWTH,
    IDLE,
    SCALE,
    MESSAGES,
    CONSUMERS,
    CELERY,
    PEERS_BESIDE,
)
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _ALL}
