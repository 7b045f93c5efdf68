"""Types a page's examples as a reader would: into one shell, and into further terminals for what goes on meanwhile."""

import os
import re
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from tests.docs.blocks import Block
from tests.patience import wait_for

_ENDED = "that was all of the block"
# What is typed, with its exit code behind it: that of the first command that failed.
_TYPED = """failed=0
trap 'failed=$?' ERR
{text}
trap - ERR
printf '\\n%s %s\\n' '{ended}' $failed
"""
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Place:
    """Where the examples' service and target are, and the app of the page: a timer's key is free only once an app."""

    service_port: int
    target_port: int
    app: str

    def filled(self, text: str) -> str:
        """Return an example with this place's ports."""
        text = re.sub(r"(localhost|127\.0\.0\.1):5000\b", rf"\1:{self.service_port}", text)
        return re.sub(r'(localhost|127\.0\.0\.1)(:|", )8000\b', rf"\1\g<2>{self.target_port}", text)


@dataclass(slots=True)
class Page:
    """The terminals of one page, and what its blocks printed."""

    place: Place
    folder: Path
    _shell: "subprocess.Popen[str] | None" = None
    _others: list["subprocess.Popen[str]"] = field(default_factory=list)

    def __enter__(self) -> "Page":
        # An answer that refuses is a failure; what curl shows of its progress is not.
        (self.folder / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n")
        self._shell = self._terminal(["bash"], subprocess.STDOUT)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._others + ([self._shell] if self._shell else []):
            process.kill()
            process.wait()

    def _terminal(self, argv: list[str], errors: int | None) -> "subprocess.Popen[str]":
        service = f"http://127.0.0.1:{self.place.service_port}"
        env = {
            **{name: value for name, value in os.environ.items() if name != "WANGTIMER_AUTH"},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CURL_HOME": str(self.folder),
            "WANGTIMER_URL": service,
            "WANGTIMER_APP": self.place.app,
        }
        return subprocess.Popen(
            argv,
            cwd=self.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def keep(self, block: Block) -> None:
        """Write a block into the file that it names."""
        (self.folder / block.value).write_text(self.place.filled(block.text))

    def typed(self, block: Block) -> tuple[str, int]:
        """Return a block's output, and the exit code of its first command that failed (0 where none did)."""
        assert self._shell is not None
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        text = block.text if block.language == "sh" else f"python3 - <<'END'\n{block.text}END\n"
        self._shell.stdin.write(_TYPED.format(text=self.place.filled(text), ended=_ENDED))
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.startswith(_ENDED):
                return "".join(lines), int(line.split()[-1])
            lines.append(line)
        raise AssertionError(f"the shell has ended: {''.join(lines)}")

    def begin(self, block: Block) -> None:
        """Type a block into a terminal of its own; returns once something listens on the target's port."""
        with (self.folder / f"terminal-{block.line}.txt").open("w") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {self.place.filled(block.text).strip()}"],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._others.append(process)
        assert wait_for(lambda: listens(self.place.target_port), SECONDS), self.shown(block)

    def shown(self, block: Block) -> str:
        """Return what a block printed into its terminal so far."""
        return (self.folder / f"terminal-{block.line}.txt").read_text()

    def waits_for(self, block: Block, words: str) -> bool:
        """Tell whether a block in its terminal prints some words, now or soon."""
        return wait_for(lambda: words in self.shown(block), SECONDS)


def listens(port: int) -> bool:
    """Tell whether somebody listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
