import socket
import ssl
from collections.abc import Callable, Iterator, Sequence

import pytest
import trustme

from tests.callback.calls import Outcomes, engine_of
from tests.callback.target import Answer, Target
from wangtimer.callback import DeliveryEngine, Egress, Limits, Tls
from wangtimer.callback.permits import Permits
from wangtimer.core.time.clock import Clock


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture(scope="session", autouse=True)
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[trustme.CA]:
    """Who vouches for targets, to this process: the store that SSL_CERT_FILE names."""
    authority = trustme.CA()
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(path))
        yield authority


@pytest.fixture(scope="session")
def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "::1", "localhost").configure_cert(context)
    return context


@pytest.fixture(params=["plain", "tls"])
def tls(request: pytest.FixtureRequest, server_context: ssl.SSLContext) -> ssl.SSLContext | None:
    """How the targets of a test are called: each test of them runs both ways."""
    return server_context if request.param == "tls" else None


@pytest.fixture
def new_target(tls: ssl.SSLContext | None) -> Iterator[Callable[..., Target]]:
    targets: list[Target] = []

    def build(*answer: Answer) -> Target:
        targets.append(Target(*answer, tls=tls))
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

    def build(
        clock: Clock | None = None,
        egress: Egress | None = None,
        name_servers: Sequence[str] = (),
        permits: Permits | None = None,
        tls: Tls | None = None,
        **limits: int,
    ) -> DeliveryEngine:
        engines.append(engine_of(clock, egress, Limits(**limits), name_servers, permits, tls))
        engines[-1].start()
        return engines[-1]

    yield build
    for engine in engines:
        if engine._thread.is_alive():
            engine.stop(0)


@pytest.fixture
def engine(new_engine: Callable[..., DeliveryEngine]) -> DeliveryEngine:
    return new_engine()


@pytest.fixture
def deaf_listener() -> Iterator[socket.socket]:
    """A listener to which connecting takes until somebody accepts: its queue is full."""
    with socket.create_server(("127.0.0.9", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener
        for filler in fillers:
            filler.close()


@pytest.fixture
def deaf_address(deaf_listener: socket.socket) -> tuple[str, int]:
    """Where connecting takes for ever."""
    host, port = deaf_listener.getsockname()
    return host, port
