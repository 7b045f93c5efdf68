"""What is paused is told, with how it goes on."""

from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.stored_checkups import of_pauses
from wangtimer.core.flow.pauses import Pause
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.pauses import PauseStore


def test_each_pause_is_a_warning_with_the_command_that_ends_it(sqlite_url: str) -> None:
    database = Database(sqlite_url, pool_size=2)
    database.create_tables()
    store = PauseStore(database)
    assert [one.severity for one in of_pauses(store)] == [Severity.OK]
    store.add(Pause("all", 1_795_207_483_000))
    store.add(Pause("host:a.example:443", 1_795_207_483_000, reason="it moves"))
    first, second = of_pauses(store)
    assert (first.severity, first.text) == (
        Severity.WARNING,
        "all has been paused since 2026-11-20T20:44:43.000Z",
    )
    assert first.mend.endswith("wangtimer resume all")
    assert second.text.endswith(": it moves")
    assert second.mend.endswith("wangtimer resume host a.example:443")
