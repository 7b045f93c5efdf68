"""The page of a firing's way has a table of the names a reader meets there: all of them, and few."""

import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tests.callback.calls import MachineClock, engine_of
from tests.callback.target import Target
from tests.callback.test_sent_by_an_executor import Records, calling, sender_of, sent_by
from tests.stages.test_work_of_a_firing import PACKAGE, is_counted
from tests.stages.world import World
from wangtimer.callback import Limits
from wangtimer.core.schedules.schedule import Once

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "way-of-a-firing.md"
# No more than there are: a plain firing meets too many already.
MOST_NAMES = 48
FIRINGS = 1_000


@contextmanager
def classes_that_run() -> Iterator[Counter[str]]:
    """Count the calls of methods of public classes of the package, in this thread and in those started meanwhile."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and is_counted(frame.f_code.co_filename):
            name, dot, _method = frame.f_code.co_qualname.partition(".")
            if dot and name[0].isupper():
                calls[name] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def of_each_firing(make_world: Callable[..., World]) -> set[str]:
    """Return the classes that are called for each of many plain firings, from their planning to their records."""
    world = make_world(executors=1).start()
    moment = (world.now // 60_000 + 3) * 60_000 + 500
    for _ in range(FIRINGS):
        world.timer(Once(moment))
    with classes_that_run() as calls:
        world.run_for((moment - world.now) / 1_000 + 5)
    assert len(world.target.arrivals) == FIRINGS
    return {name for name, number in calls.items() if number >= FIRINGS}


def of_a_call() -> set[str]:
    """Return the classes that are called for a plain call by HTTP, over a connection that is open."""
    with classes_that_run() as calls:
        engine, target, records = engine_of(limits=Limits()), Target(), Records()
        sender = sender_of(engine, records, MachineClock())
        engine.start()
        try:
            for _ in range(2):
                calls.clear()
                sent_by(sender, calling(target.url))
                records.get(timeout=8)
            return set(calls)
        finally:
            engine.stop(timeout_s=5)
            target.close()


@pytest.mark.test_all
def test_the_page_names_what_a_plain_firing_meets(make_world: Callable[..., World]) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("\n## The names on this way\n")[2].partition("\n## ")[0]
    listed = re.findall(r"`([A-Z]\w+)`", text)
    assert len(listed) == len(set(listed)) <= MOST_NAMES
    defined = {
        name
        for path in Path(PACKAGE).rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert set(listed) <= defined
    assert of_each_firing(make_world) | of_a_call() <= set(listed)
