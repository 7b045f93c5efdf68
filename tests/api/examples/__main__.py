"""`python -m tests.api.examples` calls the app on SQLite and an embedded Valkey, and writes the examples it gave."""

import json
import tempfile
import time
from pathlib import Path

from tests.api.examples.made import made_examples
from tests.servers.redis_server import RedisServer, embedded_valkey_program

KEPT = Path(__file__).parents[3] / "wangtimer/api/document/examples.json"


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory(prefix="wangtimer-examples-") as folder:
        place = Path(folder)
        with RedisServer(embedded_valkey_program(), place) as store:
            made = made_examples(f"sqlite:///{place / 'wangtimer.db'}", store.url(), int(time.time() * 1_000))
    KEPT.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
