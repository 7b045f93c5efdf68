"""A `Receiver` in web frameworks: `flask_view`, `starlette_endpoint` (FastAPI too) and `django_view`.

Each verifies the signature, acts once for each firing, and answers as `Receiver` does. None is imported before it is
used.

    receiver = Receiver(expire, secrets=[os.environ["WEBHOOK_SECRET"]])
    app.add_url_rule("/expire", view_func=flask_view(receiver), methods=["POST"])       # Flask
    app.add_api_route("/expire", starlette_endpoint(receiver), methods=["POST"])        # FastAPI
    urlpatterns = [path("expire", django_view(receiver))]                               # Django
"""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import Any

from .receiver import MOST_BODY_BYTES, Receiver

TEXT = "text/plain; charset=utf-8"


def flask_view(receiver: Receiver) -> Callable[[], Any]:
    """Return a view for Flask."""
    flask = import_module("flask")

    def view() -> Any:
        request = flask.request
        request.max_content_length = MOST_BODY_BYTES
        status, text = receiver.answer(_as_sent(request.headers.items()), request.get_data(cache=False))
        return flask.Response(text, status, content_type=TEXT)

    view.__name__ = f"receive_{id(receiver)}"  # Flask names routes by their views
    return view


def starlette_endpoint(receiver: Receiver) -> Callable[[Any], Awaitable[Any]]:
    """Return an endpoint for Starlette and FastAPI; `act` runs in a thread, so it may wait."""
    requests, responses = import_module("starlette.requests"), import_module("starlette.responses")
    in_a_thread = import_module("starlette.concurrency").run_in_threadpool

    async def endpoint(request: Any) -> Any:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY_BYTES:
                return responses.Response("no callback has a body of this size\n", 413, media_type=TEXT)
        status, text = await in_a_thread(receiver.answer, _as_sent(request.headers.items()), body)
        return responses.Response(text, status, media_type=TEXT)

    # FastAPI goes by them.
    endpoint.__annotations__ = {"request": requests.Request, "return": responses.Response}
    return endpoint


def django_view(receiver: Receiver) -> Callable[[Any], Any]:
    """Return a view for Django; it needs no CSRF token, for the signature says who calls."""
    http = import_module("django.http")

    def view(request: Any) -> Any:
        status, text = receiver.answer(_as_sent(request.headers.items()), request.body)
        return http.HttpResponse(text, status=status, content_type=TEXT)

    view.csrf_exempt = True  # type: ignore[attr-defined]
    return view


def _as_sent(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers read as UTF-8, in which the app's name is sent; frameworks read them as Latin-1."""
    return {name: value.encode("latin-1", "replace").decode(errors="replace") for name, value in headers}
