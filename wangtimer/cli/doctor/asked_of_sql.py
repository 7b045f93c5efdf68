"""What a check-up asks SQL."""

from collections.abc import Callable, Iterator
from contextlib import closing

from sqlalchemy.exc import SQLAlchemyError

from wangtimer.cli.doctor.findings import Finding
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings
from wangtimer.store.sql.database import Database, missing_file


def asked_of_sql(settings: Settings, ask: Callable[[Database], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what is asked; nothing where SQL is away or lacks the tables, as its own check-up tells that."""
    if missing_file(settings.database_url) is not None:
        return
    try:
        database = Database(settings.database_url, pool_size=1)
    except ImportError:
        return
    with closing(database):
        try:
            yield from ask(database)
        except (StoreAway, SQLAlchemyError):
            return
