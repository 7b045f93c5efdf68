"""What targets said, in SQL."""

from sqlalchemy import Connection, func, select

from wangtimer.core.flow.firing import MemberKey
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.statements import insert_ignore
from wangtimer.store.sql.tables import metadata

said = metadata.tables["said"]


def keep(database: Database, words: dict[MemberKey, tuple[str, str]]) -> None:
    """Keep the app and what its target said, by firing; repeatable."""

    def work(sql: Connection) -> None:
        for (timer_id, fire_at), (app, text) in words.items():
            row = {"timer_id": timer_id, "fire_at": fire_at, "app": app, "words": text}
            sql.execute(insert_ignore(said), [row])

    database.write(work)


def kept(database: Database, app: str) -> list[tuple[int, str]]:
    """Return the moments of an app's firings, and what its targets said."""
    query = select(said.c.fire_at, said.c.words).where(said.c.app == app).order_by(said.c.fire_at)
    return database.read(lambda sql: [(moment, words) for moment, words in sql.execute(query)])


def count(database: Database) -> int:
    """Return how much is kept."""
    return database.read(lambda sql: sql.execute(select(func.count()).select_from(said)).scalar_one())
