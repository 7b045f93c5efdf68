"""docs/how-to/back-up-and-restore.md: its commands bring back what a MariaDB had when it was dumped."""

import os
import subprocess
from pathlib import Path

from sqlalchemy import create_engine, text

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
        engine.dispose()
        typed(RESTORE, mariadb_server, tmp_path)
        with engine.begin() as connection:
            assert connection.execute(NAMES).scalars().all() == ["expire-1", "夜间"]
    finally:
        engine.dispose()
        mariadb_server.drop_database("wangtimer")


def typed(block: str, server: MariaDBServer, folder: Path) -> None:
    """Type a block where the clients' own file says which server is meant."""
    (folder / ".my.cnf").write_text(f"[client]\nhost={HOST}\nport={server.port}\nuser=root\n")
    subprocess.run(
        ["bash", "-e", "-c", block], cwd=folder, env={**os.environ, "HOME": str(folder)}, check=True
    )
