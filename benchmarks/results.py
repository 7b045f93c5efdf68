"""The measurements on disk: each workload's latest runs, so a partial run updates only its own rows."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Result:
    """The runs of one workload, with the same figures in each.

    `commit` is the latest that changed what runs, `ran_on` names cores and Python, as machines change.
    """

    workload: str
    measured_at: str
    commit: str
    ran_on: str
    scale: float
    took_s: float
    runs: Sequence[Mapping[str, float]]

    def values(self, figure: str) -> list[float]:
        """Return a figure of each run; NaN where an older run does not have it."""
        return [run.get(figure, float("nan")) for run in self.runs]


@dataclass(slots=True)
class Results:
    """Every workload's latest result, and the machine of the latest one."""

    machine: dict[str, str] = field(default_factory=dict)
    by_workload: dict[str, Result] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Results":
        """Read the file of `write`; empty where there is none."""
        if not path.exists():
            return cls()
        held = json.loads(path.read_text(encoding="utf-8"))
        return cls(held["machine"], {name: Result(**one) for name, one in held["workloads"].items()})

    def write(self, path: Path) -> None:
        """Write all, sorted, so that a change gives a small diff."""
        held = {
            "machine": self.machine,
            "workloads": {name: asdict(one) for name, one in sorted(self.by_workload.items())},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n", encoding="utf-8")
