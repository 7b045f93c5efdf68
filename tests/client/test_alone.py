"""The client without the service: it runs where nothing but requests is installed."""

import subprocess
import sys
import tomllib
from pathlib import Path
from pkgutil import iter_modules

import wangtimer

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


def test_its_contract_names_all_else_of_wangtimer() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    (forbidden,) = [
        contract["forbidden_modules"]
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["name"].startswith("The client stands alone")
    ]
    others = {f"wangtimer.{one.name}" for one in iter_modules(wangtimer.__path__)} - {"wangtimer.client"}
    assert {one for one in forbidden if one.startswith("wangtimer.")} == others
