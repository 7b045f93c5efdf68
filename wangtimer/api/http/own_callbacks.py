"""Refuses WangTimer's own callbacks where they would make more firings.

A timer whose target was the operation that fires timers made 150 calls a second of one request, for as long as it
was let.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, request

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Part, Refused

ID = "webhook-id"
OURS = "X-WangTimer-"


def refusing_callbacks(view: Callable[..., Response]) -> Callable[..., Response]:
    """Return a view that refuses requests with the headers of a callback."""

    @wraps(view)
    def answer(**given: Any) -> Response:
        if ID in request.headers and any(
            name.lower().startswith(OURS.lower()) for name, _ in request.headers
        ):
            raise Refused(
                ErrorCode.OWN_CALLBACK,
                ID,
                "this request is a callback of a timer, and a callback may make no timers and no firings",
                f"let the timer call a service of yours, whose requests here have no {ID} and no {OURS}* header",
                part=Part.HEADER,
            )
        return view(**given)

    return answer
