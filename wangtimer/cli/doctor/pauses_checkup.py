"""The check-up of pauses: what makes no calls because an operator said so."""

from collections.abc import Iterator

from wangtimer.cli.doctor.asked_of_sql import asked_of_sql
from wangtimer.cli.doctor.findings import Finding, ok, warning
from wangtimer.core.time.moment_text import show_moment
from wangtimer.settings import Settings
from wangtimer.store.sql.pauses import PauseStore

PART = "pauses"
# At most this many findings.
SHOWN = 20


def check_pauses(settings: Settings) -> Iterator[Finding]:
    """Yield what is paused; nothing where SQL is away, as its own check-up tells that."""
    yield from asked_of_sql(settings, lambda sql: in_force(PauseStore(sql)))


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
