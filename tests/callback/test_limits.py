"""The bounds of an engine by itself are those of a deployment."""

from wangtimer.base.settings import Settings
from wangtimer.callback import Limits
from wangtimer.wiring import Wiring


def test_what_is_not_said_of_an_engine_is_what_the_settings_say_by_default() -> None:
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    assert Wiring(Settings.model_construct(**defaults), None).limits == Limits()
