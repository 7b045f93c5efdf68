from collections.abc import Callable, Iterator

import pytest

from tests.callback.calls import MachineClock, Outcomes
from tests.callback.target import Answer, Target
from wangtimer.callback import DeliveryEngine, Limits
from wangtimer.core.clock import Clock


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture(params=["127.0.0.1", "127.1"], ids=["plain", "libcurl"])
def address(request: pytest.FixtureRequest) -> str:
    """Loopback, in the notation that goes out without libcurl and in one that only libcurl reads."""
    return request.param


@pytest.fixture
def keeps_connections(address: str) -> None:
    """libcurl keeps none: its pool cannot tell apps apart."""
    if address != "127.0.0.1":
        pytest.skip("libcurl keeps no connection")


@pytest.fixture
def new_target(address: str) -> Iterator[Callable[..., Target]]:
    targets: list[Target] = []

    def build(*answer: Answer) -> Target:
        targets.append(Target(*answer, address=address))
        return targets[-1]

    yield build
    for target in targets:
        target.close()


@pytest.fixture
def target(new_target: Callable[..., Target]) -> Target:
    return new_target()


@pytest.fixture
def new_engine() -> Iterator[Callable[..., DeliveryEngine]]:
    engines: list[DeliveryEngine] = []

    def build(clock: Clock | None = None, **limits: int) -> DeliveryEngine:
        engines.append(DeliveryEngine(clock or MachineClock(), Limits(**limits)))
        engines[-1].start()
        return engines[-1]

    yield build
    for engine in engines:
        if engine.is_running:
            engine.stop(0)


@pytest.fixture
def engine(new_engine: Callable[..., DeliveryEngine]) -> DeliveryEngine:
    return new_engine()
