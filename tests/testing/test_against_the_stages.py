"""The driver leaves out looks that find nothing; the stages' own tests leave out none, and make the same calls."""

from collections.abc import Callable
from datetime import UTC, datetime

from tests.stages.conftest import make_world
from tests.stages.scripted_target import Answer
from tests.stages.world import World
from tests.testing.timers import Make, timer
from wangtimer.core.cron.cron import Cron
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Once, Schedule

__all__ = ["make_world"]

MINUTES = 8


def test_both_call_at_the_same_moments(
    make_world: Callable[..., World],
    make_wangtimer: Make,
) -> None:
    world = make_world(triggers=1, executors=1).start()
    world.target.answer = lambda arrival: Answer(200 if arrival.attempt == 2 else 503, after_ms=0.0)
    wangtimer = make_wangtimer(datetime.fromtimestamp(world.now / 1_000, UTC))
    wangtimer.answer(lambda call: 200 if call.attempt == 2 else 503)
    sevens, dense, once = "*/7 * * * *", 1_700, world.now + 12_345
    schedules: list[Schedule] = [Cron.parse(sevens), Every(dense, world.now), Once(once)]
    timers = [world.timer(schedule) for schedule in schedules]
    timer(wangtimer, "0", cron=sevens)
    timer(wangtimer, "1", every=f"{dense}ms", anchorAt=wangtimer.now.isoformat())
    timer(wangtimer, "2", at=once)
    world.run_for(MINUTES * 60)
    wangtimer.advance(minutes=MINUTES)
    for number, made in enumerate(timers):
        firsts = [one for one in world.target.of(made.id) if one.attempt == 1]
        theirs = [(one.fire_at, one.at_ms) for one in firsts]
        ours = [
            (call.fire_at.timestamp() * 1_000, call.at.timestamp() * 1_000)
            for call in wangtimer.calls_of(str(number))
            if call.attempt == 1
        ]
        assert ours == theirs
        assert ours
        attempts = {call.attempt for call in wangtimer.calls_of(str(number))}
        assert attempts == {one.attempt for one in world.target.of(made.id)} == {1, 2}
