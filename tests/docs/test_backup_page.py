"""docs/how-to/back-up-and-restore.md: its commands bring back what a MariaDB had when it was dumped."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import URL, create_engine, text

from tests.docs.blocks import ROOT, blocks
from tests.servers.mariadb import MariaDBServer
from wangtimer.stack.ports import HOST

PAGE = ROOT / "docs/how-to/back-up-and-restore.md"
DUMP, RESTORE = (block.text for block in blocks(PAGE) if block.marker == "checked by")
NAMES = text("SELECT name FROM timer ORDER BY name")


def test_what_was_dumped_is_there_again(mariadb_server: MariaDBServer, tmp_path: Path) -> None:
    engine = create_engine(mariadb_server.create_database("wangtimer"))
    try:
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE timer (name VARCHAR(20)) ENGINE=InnoDB"))
            connection.execute(text("INSERT INTO timer VALUES ('expire-1'), ('夜间')"))
        typed(DUMP, mariadb_server, tmp_path)
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM timer"))
        typed(RESTORE, mariadb_server, tmp_path)
        assert names_in(engine.url.set(database="wangtimer_restored")) == ["expire-1", "夜间"]
        assert names_in(engine.url) == []
    finally:
        engine.dispose()
        for database in ("wangtimer", "wangtimer_restored"):
            mariadb_server.run(f"DROP DATABASE IF EXISTS {database}")


def names_in(database: URL) -> list[str]:
    """Return the timers' names in a database."""
    engine = create_engine(database)
    try:
        with engine.begin() as connection:
            return list(connection.execute(NAMES).scalars())
    finally:
        engine.dispose()


def typed(block: str, server: MariaDBServer, folder: Path) -> None:
    """Type a block where the clients' own file says which server is meant."""
    (folder / ".my.cnf").write_text(f"[client]\nhost={HOST}\nport={server.port}\nuser=root\n")
    subprocess.run(
        ["bash", "-e", "-c", block], cwd=folder, env={**os.environ, "HOME": str(folder)}, check=True
    )
