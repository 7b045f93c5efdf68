"""The check-up of pauses: what makes no calls because an operator said so."""

from collections.abc import Iterator
from contextlib import closing

from sqlalchemy.exc import SQLAlchemyError

from wangtimer.cli.doctor.findings import Finding, ok, warning
from wangtimer.core.errors import StoreAway
from wangtimer.core.time.moment_text import show_moment
from wangtimer.settings import Settings
from wangtimer.store.sql.database import Database, missing_file
from wangtimer.store.sql.pauses import PauseStore

PART = "pauses"
# At most this many findings.
SHOWN = 20


def check_pauses(settings: Settings) -> Iterator[Finding]:
    """Yield what is paused; nothing where SQL is away, as its own check-up tells that."""
    if missing_file(settings.database_url) is not None:
        return
    try:
        database = Database(settings.database_url, pool_size=1)
    except ImportError:
        return
    with closing(database):
        try:
            yield from in_force(PauseStore(database))
        except (StoreAway, SQLAlchemyError):
            return


def in_force(store: PauseStore) -> Iterator[Finding]:
    """Yield a warning for each pause, with how it ends."""
    paused = store.all()
    for one in paused[:SHOWN]:
        why = f": {one.reason}" if one.reason else ""
        said = f"{one.name} has been paused since {show_moment(one.since)}{why}"
        yield warning(
            PART, said, f"its firings wait; let it go on: wangtimer resume {one.name.replace(':', ' ', 1)}"
        )
    if len(paused) > SHOWN:
        yield warning(PART, f"so are {len(paused) - SHOWN} further ones", "wangtimer pauses lists them")
    if not paused:
        yield ok(PART, "nothing is paused")
