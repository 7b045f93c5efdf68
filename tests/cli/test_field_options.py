"""Options made from the client's description: a new field of a timer is one by itself, in no file of its own."""

import json
import subprocess
import sys

NEW_FIELD = """
import json, sys
from typing import Annotated
from wangtimer.client import Client, timer_fields
from wangtimer.client.timer_fields import About

about = About("How many at once.", default=1, can_be_cleared=True)
timer_fields.TimerFields.__annotations__["mostAtOnce"] = Annotated[int | None, about]

from click.testing import CliRunner
from wangtimer.cli.main import commands

said = []
Client.create_timer = lambda client, **timer: said.append(timer) or shown
Client.patch_timer = lambda client, which, version, **changes: said.append(changes) or shown
Client.get_timer = lambda client, which: shown
shown = {"mostAtOnce": 3, "id": 7, "key": "a", "status": "enabled", "nextFireAt": None, "version": 1, "tags": []}
shown |= {"target": {"method": "GET", "url": "u", "headers": {}, "body": ""}, "schedule": {"at": "x"}}
shown |= {"misfire": {}, "createdAt": "", "updatedAt": "", "countsWithin": "1s", "deleteAfterFinish": False}

def run(*words):
    result = CliRunner(env={"WANGTIMER_APP": "shop"}).invoke(commands, ["timers", *words])
    assert result.exit_code == 0, result.output
    return result.stdout

run("create", "a", "--in", "1m", "--target", "u", "--most-at-once", "3", "--json")
run("edit", "a", "--clear", "most-at-once", "--json")
print(json.dumps({"said": said, "help": run("create", "--help"), "shown": run("show", "7")}))
"""


def test_a_new_field_is_an_option_is_sent_and_is_shown() -> None:
    done = subprocess.run([sys.executable, "-c", NEW_FIELD], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    created, changed = found["said"]
    assert created == {"key": "a", "schedule": {"delay": "1m"}, "mostAtOnce": 3, "target": {"url": "u"}}
    assert changed == {"mostAtOnce": None}
    assert "How many at once." in found["help"]
    assert "most at once 3" in " ".join(found["shown"].split())
