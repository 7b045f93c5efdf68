"""What the OpenAPI document says of an operation, read from its view."""

from collections.abc import Callable
from inspect import getdoc
from typing import Any, get_type_hints

from wangtimer.api.http.envelope import Answer, ErrorAnswer

# The web server answers this before the API sees the request.
TOO_LONG = {
    "description": "The request line is over 8,190 bytes; the web server says so, in HTML",
    "content": {"text/html": {"schema": {"type": "string"}}},
}


def documented(
    view: Callable[..., Any],
    operation_id: str,
    *errors: int,
    answer: type[Answer] | None = None,
) -> dict[str, Any]:
    """Return a route's options: a stable operation id, its text, its answer, and its errors as HTTP statuses.

    `answer` is the model where the view makes the response itself.

    The errors that any operation can answer need not be named: bad input, no key or the wrong one, an unknown app, a
    fault, a store away.
    """
    hints = get_type_hints(view)
    summary, _, description = (getdoc(view) or "").partition("\n")
    of_a_body = (413, 415) if "body" in hints else ()
    of_a_query = {414: TOO_LONG} if "query" in hints else {}
    statuses = sorted({400, 401, 403, 404, 429, 500, 503, *of_a_body, *errors})
    return {
        "operation_id": operation_id,
        "summary": summary.rstrip("."),
        "description": " ".join(description.split()),
        "responses": {200: answer or hints["return"]} | dict.fromkeys(statuses, ErrorAnswer) | of_a_query,
    }
