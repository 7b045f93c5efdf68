"""The client without the service: it runs where nothing but requests is installed."""

import subprocess
import sys

ALONE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        top, _, rest = name.partition(".")
        if top in {"flask", "celery", "kombu", "redis", "sqlalchemy", "pydantic", "click", "rich", "croniter"}:
            raise ImportError(f"{name} is not installed here")
        if top == "wangtimer" and rest and rest.split(".")[0] != "client":
            raise ImportError(f"{name} is the service's")

sys.meta_path.insert(0, Refuse())
from wangtimer.client import Client
print(Client("http://127.0.0.1:5000", "shop").app)
"""


def test_it_imports_nothing_of_the_service() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60)
    assert done.stdout == "shop\n", done.stderr
