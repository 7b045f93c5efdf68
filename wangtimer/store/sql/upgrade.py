"""Upgrades an existing database to the tables the program expects."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.database import with_driver
from wangtimer.store.sql.drift import Lack, lacks

# While ALTER TABLE waits for transactions on its table, every new one waits behind it: so it gives up after this.
LOCK_WAIT_S = 5
CONNECT_S = 3


@contextmanager
def patient_connection(url: str) -> Iterator[Connection]:
    """Yield a connection whose statements may take as long as they need, each committed by itself.

    The service's own connections give up after 5 s; an index on a large table takes minutes. Raises `StoreAway`.
    """
    parsed = with_driver(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    arguments = {} if is_sqlite else {"connect_timeout": CONNECT_S, "charset": "utf8mb4"}
    engine = create_engine(parsed, isolation_level="AUTOCOMMIT", connect_args=arguments, hide_parameters=True)
    try:
        with engine.connect() as sql:
            if not is_sqlite:
                sql.execute(
                    text(f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S} /*M! , max_statement_time = 0 */")
                )
            yield sql
    except DBAPIError as error:
        raise StoreAway("SQL", str(error.orig)) from error
    finally:
        engine.dispose()


def add_missing(sql: Connection) -> Iterator[Lack]:
    """Add what the database lacks, and yield each thing once it is there.

    Each statement is done or not done by itself, so an upgrade that was cut off can be started again.
    """
    for lack in lacks(sql):
        if lack.statement is not None:
            sql.exec_driver_sql(lack.statement)
            yield lack
