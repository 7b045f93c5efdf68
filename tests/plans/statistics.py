"""What a server believes of its tables: the truth, or one of two ways to be wrong."""

from enum import StrEnum

from sqlalchemy import Connection, text

from wangtimer.store.sql.tables import metadata
from wangtimer.store.sql.upgrade import patient_connection


class Belief(StrEnum):
    """`STALE`: a twentieth of the rows, as before a table grew. `BLIND`: no index tells any two rows apart."""

    RIGHT = "right"
    STALE = "stale"
    BLIND = "blind"


def let_believe(url: str, database: str, belief: Belief, rows: int) -> None:
    """Rewrite the statistics of every table of the database."""
    with patient_connection(url) as sql:
        if belief is Belief.RIGHT:
            for name in metadata.tables:
                sql.execute(text(f"ANALYZE TABLE {name}")).all()
            return
        few, many = (rows // 20, 100), (2_000_000_000, 10_000_000)
        number, pages = few if belief is Belief.STALE else many
        differ = number if belief is Belief.STALE else 1
        of_these = {"database": database}
        sql.execute(
            text(
                f"UPDATE mysql.innodb_table_stats SET n_rows = {number}, clustered_index_size = {pages},"
                f" sum_of_other_index_sizes = {pages} WHERE database_name = :database"
            ),
            of_these,
        )
        sql.execute(
            text(
                f"UPDATE mysql.innodb_index_stats SET stat_value = IF(stat_name LIKE 'n_diff%', {differ}, {pages})"
                " WHERE database_name = :database"
            ),
            of_these,
        )
        for name in metadata.tables:
            _read_anew(sql, name)


def _read_anew(sql: Connection, name: str) -> None:
    """A table that is renamed is opened anew, with its statistics; FLUSH TABLE keeps those it had."""
    sql.execute(text(f"RENAME TABLE {name} TO {name}_away, {name}_away TO {name}"))
