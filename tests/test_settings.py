"""Wrong settings stop the start with one line that names the variable and the mend."""

import pytest

from wangtimer.core.errors import BadSetting
from wangtimer.settings import read_settings

WRONG = {
    "DATABASE_URL": ["nonsense", "postgresql://h/d"],
    "STORE_URL": ["http://h", "valkey://h"],
    "BROKER_URL": ["nonsense"],
    "KEY_PREFIX": ["", "has space", "x" * 21],
    "STEP_S": ["0", "abc", "1e9"],
    "LEAD_MS": ["0", "5000"],
    "CHUNK_SIZE": ["0", "100000"],
    "CALLBACK_TIMEOUT_MS": ["-1"],
    "MOST_ATTEMPTS": ["0"],
    "HTTP_WORKERS": ["many"],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG.items() for v in values])
def test_a_wrong_setting_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"WANGTIMER_{name}", value)
    with pytest.raises(BadSetting, match=f"WANGTIMER_{name}=") as caught:
        read_settings()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"RENEW_EVERY_MS": "4000"}, "RENEW_EVERY_MS"),
        ({"PLAN_EVERY_S": "30"}, "NEAR_S"),
        ({"STEP_S": "60", "NEAR_S": "120"}, "STEP_S"),
    ],
)
def test_settings_that_do_not_fit_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], named: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"WANGTIMER_{name}", value)
    with pytest.raises(BadSetting, match=named):
        read_settings()


def test_the_defaults_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_STEP_S", "150")
    assert read_settings().horizon_ms == 300_000
