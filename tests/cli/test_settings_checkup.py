"""What a check-up says of settings."""

import pytest

from wangtimer.cli.doctor.findings import Severity
from wangtimer.cli.doctor.server_checkups import check_bind


@pytest.mark.parametrize(
    "bind", ["127.0.0.1:5000", "127.0.0.2:80", "[::1]:5000", "localhost:5000", "unix:/run/web,fd://3"]
)
def test_an_api_that_only_this_machine_reaches_needs_no_proxy(bind: str) -> None:
    assert not list(check_bind(bind))


@pytest.mark.parametrize("bind", ["0.0.0.0:5000", "[::]:5000", "10.0.0.5:80", "timers.example:5000", ":5000"])
def test_an_api_that_others_reach_is_warned_of(bind: str) -> None:
    (found,) = check_bind(bind)
    assert found.severity is Severity.WARNING
    assert bind in found.text
    assert "put a proxy in front" in found.mend
