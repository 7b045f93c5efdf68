"""Keeps a set of child processes running, and ends them all in order."""

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from types import FrameType, TracebackType

from wangtimer.core.errors import WangTimerError
from wangtimer.stack.child import Child, ChildSpec, launch

# While a stack starts or ends, and while it runs. A look costs ten system calls.
POLL_SECONDS, TEND_SECONDS = 0.025, 0.5

# A child that keeps dying is started again after 0.5, 1, 2, 4, at most 8 s, so that it does not overload the machine.
# After a run of 30 s the pauses begin at 0.5 s again.
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0
SOUND_AFTER_SECONDS = 30.0

# More than a callback process waits for its calls by default (12 s) and gunicorn gives its requests (12 s), so that a
# planned stop cuts nothing that is under way.
STOP_SECONDS = 15.0


class StartError(WangTimerError):
    """A process ended, or did not announce itself, while the stack was starting; its last lines follow."""


class StopRequest:
    """Whether SIGINT or SIGTERM has come: loops look. A context: at its end the former handlers come back."""

    def __init__(self) -> None:
        self.has_come = False
        self._before: dict[int, signal.Handlers | int | Callable[[int, FrameType | None], object] | None] = {}

    def __enter__(self) -> "StopRequest":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.has_come = True


@dataclass(slots=True)
class _Watched:
    """A child, its place in the order of stopping, and when it may be started again."""

    child: Child
    stop_rank: int
    launched_at: float
    deaths: int = 0
    resume_at: float | None = None

    def pause_seconds(self, longest: float) -> float:
        return float(min(FIRST_PAUSE_SECONDS * 2 ** (self.deaths - 1), longest))


class Supervisor:
    """Starts children, restarts those that die, ends all. Only the main thread calls it."""

    def __init__(
        self, say: Callable[[str], None] = print, longest_pause: float = LONGEST_PAUSE_SECONDS
    ) -> None:
        self.say = say
        self._longest_pause = longest_pause
        self._watched: dict[str, _Watched] = {}

    def start(self, spec: ChildSpec, stop_rank: int = 0) -> Child:
        """Start a child; lower ranks are stopped first. Raises `StartError` when its program cannot be run."""
        try:
            child = launch(spec)
        except OSError as error:
            raise StartError(f"{spec.name}: cannot run {spec.argv[0]}: {error.strerror}") from None
        self._watched[spec.name] = _Watched(child, stop_rank, time.monotonic())
        return child

    def children(self) -> dict[str, Child]:
        """Return the present process of each child."""
        return {name: watched.child for name, watched in self._watched.items()}

    def all_ready(self) -> bool:
        """Say whether every child runs and is ready. Raises `StartError` with the last lines of one that ended."""
        for child in self.children().values():
            if child.has_ended():
                raise StartError(
                    f"{child.spec.name} ended at start, see {child.spec.log}:\n{child.last_words()}"
                )
        return all(child.is_ready() for child in self.children().values())

    def unready(self) -> list[str]:
        """Return the names of those that have not announced themselves."""
        return [name for name, child in self.children().items() if not child.is_ready()]

    def restart_dead(self) -> None:
        """Bury the children that ended and start them again after a pause; call often."""
        for name, watched in self._watched.items():
            if watched.resume_at is not None:
                self._resume(watched)
            elif watched.child.has_ended():
                self._note_death(name, watched)

    def tend_until(self, has_come: Callable[[], bool]) -> None:
        """Keep the children running until `has_come` says so."""
        while not has_come():
            self.restart_dead()
            time.sleep(TEND_SECONDS)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """End all, rank by rank: SIGTERM, then after `seconds` SIGKILL to those that are left."""
        ordered = sorted(self._watched.values(), key=lambda watched: watched.stop_rank)
        for _, rank in groupby(ordered, key=lambda watched: watched.stop_rank):
            self._stop_together([watched.child for watched in rank], seconds)
        self._watched.clear()

    def _note_death(self, name: str, watched: _Watched) -> None:
        code = watched.child.bury()
        now = time.monotonic()
        watched.deaths = 1 if now - watched.launched_at > SOUND_AFTER_SECONDS else watched.deaths + 1
        pause = watched.pause_seconds(self._longest_pause)
        watched.resume_at = now + pause
        self.say(f"{name} {_ending(code)}; it is started again in {pause:g} s, see {watched.child.spec.log}")

    def _resume(self, watched: _Watched) -> None:
        now = time.monotonic()
        if watched.resume_at is None or now < watched.resume_at:
            return
        try:
            watched.child = launch(watched.child.spec)
        except OSError:
            watched.deaths += 1
            watched.resume_at = now + watched.pause_seconds(self._longest_pause)
        else:
            watched.launched_at, watched.resume_at = now, None

    def _stop_together(self, children: list[Child], seconds: float) -> None:
        for child in children:
            child.ask_to_end()
        wait_for(lambda: all(child.has_ended() for child in children), seconds)
        for child in children:
            if not child.has_ended():
                self.say(f"{child.spec.name} did not end within {seconds:g} s and is killed")
            child.bury()


def _ending(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds, at most `seconds`; say whether it did."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
