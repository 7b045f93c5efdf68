"""The list of features that lie in one folder each, and how the layers find what a feature adds.

A feature adds by a module of its folder, and by a name in it:

* `fields.FIELDS`: fields of a timer (`core/timers/field.py`). It imports `core` alone.
* `tables.SCHEMA`: tables, as `schema.sql` writes them; `tables.OF_TIMER`: lines of columns of its table `timer`. The
  module imports nothing of `wangtimer`.
* `firing.steps`, `stamps`, `after_success`, `after_failure`, `after_settled`: each takes the parts of the process, and
  returns what has a say in a firing. `wangtimer/wiring/firing.py` says where they stand in its lists.
* `routes.RESOURCES`: operations of `/v1` by section of the document; `routes.RIGHTS`: the scope that each needs. It may
  import `wangtimer.api`.
* `commands.COMMANDS`: for each command the module that has it, and its line in the list. That module may import
  `wangtimer.cli`.
* `metrics.of_sql`, `of_store`: each takes the parts of the process, and returns the figures that it reads there.

What it has no module or no name for it does not add. A layer imports only the modules for it, when it is imported.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

# In the order in which what they add stands.
FEATURES = [
    "wangtimer.features.alerts",
    "wangtimer.features.controls",
    "wangtimer.features.egress",
    "wangtimer.features.failing_hosts",
]


def added(module: str, name: str) -> list[Any]:
    """Return what features have under this name in this module of their folders, in their order."""
    modules = [
        import_module(f"{feature}.{module}")
        for feature in FEATURES
        if find_spec(f"{feature}.{module}") is not None
    ]
    return [getattr(module, name) for module in modules if hasattr(module, name)]
