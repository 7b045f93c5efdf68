"""The settings of an app, read when the first request needs them."""

from collections.abc import Callable
from functools import cache

from flask import Flask, current_app

from wangtimer.settings import Settings

_EXTENSION = "wangtimer.settings"


def keep_settings(app: Flask, read: Callable[[], Settings]) -> None:
    """Keep `read` with the app, so that its requests find the settings."""
    app.extensions[_EXTENSION] = cache(read)


def settings_in_use() -> Settings:
    """Return the settings of the app that answers the current request."""
    settings: Settings = current_app.extensions[_EXTENSION]()
    return settings


def work_s() -> float:
    """Return how many seconds of CPU a request may take before more work is refused."""
    return settings_in_use().http_cpu_ms / 1_000
