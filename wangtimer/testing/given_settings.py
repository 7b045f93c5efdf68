"""The settings of a deployment for tests."""

from typing import Any
from uuid import uuid4

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from wangtimer.core.secret_keys import new_secret_key
from wangtimer.settings import Settings

# The host name of the API.
HOST = "wangtimer.test"
MOST_CPU_MS = 60_000
# Nothing of it is stored beyond the process.
_KEY = new_secret_key("test")


class GivenSettings(Settings):
    """Settings from their arguments only: no environment variable changes a test."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - named so by pydantic
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Keep only the arguments as a source."""
        return (init_settings,)


def settings_of(**given: Any) -> Settings:
    """Return the settings of a deployment for tests; raises `pydantic.ValidationError`."""
    return GivenSettings(
        database_url=f"sqlite:///file:/wangtimer-{uuid4().hex}?vfs=memdb&uri=true",
        http_hosts=HOST,
        auth="off",
        plan_threads=1,
        # A machine of tests may be slow and busy; what the CPU of a request is bounded for is not there.
        http_cpu_ms=MOST_CPU_MS,
        secret_keys=_KEY,
        **given,
    )
