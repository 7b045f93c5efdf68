"""The settings of a deployment for tests."""

from typing import Any
from uuid import uuid4

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from wangtimer.settings import Settings

# The host name of the API.
HOST = "wangtimer.test"


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
        **given,
    )
