"""The OpenAPI document's tags of the compatible paths. Their names set them apart from v1."""

from flask_openapi.models.tag import Tag

_LIKE = "for xTimer's clients; /v1 has the same in a simpler form"

TIMERS = Tag(name="compatible timers", description=f"Timers {_LIKE}")
RECORDS = Tag(name="compatible records", description=f"Firings {_LIKE}")
