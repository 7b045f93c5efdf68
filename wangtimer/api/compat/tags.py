"""Parts of the OpenAPI document that hold the compatible paths: by their names a reader knows them from those of v1."""

from flask_openapi.models.tag import Tag

_LIKE = "as xTimer's clients call them; /v1 has the same in a plainer form"

TIMERS = Tag(name="compatible timers", description=f"Timers {_LIKE}")
RECORDS = Tag(name="compatible records", description=f"Firings {_LIKE}")
CALENDARS = Tag(name="compatible calendars", description=f"Calendars {_LIKE}")
