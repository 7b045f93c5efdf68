"""The tables with those that features add."""

from wangtimer.core.features import added
from wangtimer.store.sql.tables import metadata

__all__ = ["metadata"]

# A table is one of these once its module is imported.
added("tables", "TABLES")
