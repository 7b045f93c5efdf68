"""The receivers under examples/: each verifies, acts once, and refuses what is forged; where its language is there."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.made_requests import made_request
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.signing_secret import SigningSecret
from wangtimer.core.timers.timer import Notify

RECEIVERS = Path(__file__).parents[2] / "examples" / "receivers"
# Go and Java compile first, which takes seconds: `make clients`.
LANGUAGES = {
    "python3": ("python3", "receiver.py"),
    "node": ("node", "receiver.mjs"),
    "go": ("go", "run", "receiver.go"),
    "java": ("java", "Receiver.java"),
}
COMPILED = ("go", "java")
OLD, NEW = SigningSecret(1, b"o" * 32, 0), SigningSecret(2, b"n" * 32, 0)
BODY = '{"order": 42, "note": "好"}'
FIRST, SECOND = Member(7, 1_795_207_483_123, 1), Member(7, 1_795_207_484_123, 1)

pytestmark = pytest.mark.timeout(180)


class Running:
    """A receiver, and what it has acted on."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._lines = process.stdout
        self.url = f"http://127.0.0.1:{self._lines.readline().removeprefix('listening on ').strip()}/fire"

    def send(self, headers: dict[str, str], body: str = BODY) -> int:
        return requests.post(self.url, data=body.encode(), headers=headers, timeout=20).status_code

    def next_act(self) -> str:
        return self._lines.readline().strip().partition(" (")[0]


@pytest.fixture(
    params=[
        pytest.param(
            name, marks=[pytest.mark.clients, pytest.mark.timeout(1_800)] if name in COMPILED else []
        )
        for name in LANGUAGES
    ]
)
def receiver(request: pytest.FixtureRequest) -> Iterator[Running]:
    program, *arguments = LANGUAGES[request.param]
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    process = subprocess.Popen(
        [program, *arguments, "0"],
        cwd=RECEIVERS,
        env=os.environ | {"WEBHOOK_SECRET": f"{NEW.text} {OLD.text}"},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Running(process)
    finally:
        # `go run` has a child of its own.
        os.killpg(process.pid, 9)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def signed(member: Member, *keys: bytes, off_s: int = 0) -> dict[str, str]:
    request = made_request(Notify("http://a/", body=BODY), "shop", member, keys, int(time.time()) + off_s)
    return dict(request.headers)


def test_it_acts_once_on_what_is_signed_and_never_on_what_is_forged(receiver: Running) -> None:
    assert receiver.send(signed(FIRST, b"x" * 32)) == 401
    assert receiver.send(signed(FIRST)) == 401
    assert receiver.send(signed(FIRST, NEW.key, off_s=-400)) == 401
    assert receiver.send(signed(FIRST, NEW.key, off_s=400)) == 401
    assert receiver.send(signed(FIRST, NEW.key), BODY.replace("42", "43")) == 401
    assert receiver.send(signed(FIRST, NEW.key) | {"webhook-id": SECOND.firing_id}) == 401
    assert receiver.send(signed(FIRST, NEW.key) | {"webhook-timestamp": "soon"}) == 401
    assert receiver.send(signed(FIRST, NEW.key)) == 204
    assert receiver.send(signed(FIRST, b"x" * 32, OLD.key)) == 204
    assert receiver.send(signed(SECOND, OLD.key)) == 204
    assert [receiver.next_act(), receiver.next_act()] == [
        f"acted on {FIRST.firing_id}",
        f"acted on {SECOND.firing_id}",
    ]
