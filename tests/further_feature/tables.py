"""The table of what targets said."""

from sqlalchemy import BigInteger, Column, String

from wangtimer.core.timers.timer import APP_CHARACTERS
from wangtimer.store.sql.tables import new_table

said = new_table(
    "said",
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    Column("app", String(APP_CHARACTERS), nullable=False),
    Column("words", String(100), nullable=False),
)
TABLES = (said,)
