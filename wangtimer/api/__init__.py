"""The HTTP API: `gunicorn --config python:wangtimer.api.gunicorn "wangtimer.api:create_app()"`."""

from flask_openapi.models.info import Info
from flask_openapi.openapi import OpenAPI

from wangtimer import VERSION
from wangtimer.api.access.gate import guard
from wangtimer.api.compat.xtimer_routes import xtimer_routes
from wangtimer.api.compat.xtimer_words import tell_in_xtimers_words
from wangtimer.api.document.docs_page import add_docs
from wangtimer.api.document.finished import finish_document
from wangtimer.api.http.api_models import ErrorAnswer
from wangtimer.api.http.browser_rules import add_security_headers, refuse_other_hosts
from wangtimer.api.http.failures import answer_failures
from wangtimer.api.http.reading import MOST_BODY_BYTES
from wangtimer.api.http.request_context import keep_settings
from wangtimer.api.http.web_process import LateWiring
from wangtimer.api.operations.health import health_routes
from wangtimer.api.operations.metrics import add_metrics
from wangtimer.api.v1 import v1_routes
from wangtimer.api.v1.problems import tell_problem
from wangtimer.base.settings import read_settings
from wangtimer.wiring import Wiring

__all__ = ["WIRING", "create_app"]

# The name in `app.extensions` under which what builds the app's parts is kept.
WIRING = "wangtimer.wiring"


def create_app(wiring: Wiring | None = None) -> OpenAPI:
    """Return the API. Without a wiring it builds its own at the first request, so a fork before that is safe."""
    app = OpenAPI(
        "wangtimer.api",
        info=Info(title="WangTimer", version=VERSION),
        # Without it the document has a null that code generators stumble over.
        security_schemes={},
        validation_error_status=400,
        validation_error_model=ErrorAnswer,
        doc_ui=False,
        static_folder=None,
    )
    # The package's default of 3.2.0 is too new for openapi-generator.
    app.openapi_version = "3.1.0"
    # One byte more than allowed: werkzeug cuts a chunked body at its limit without an error. Our check sees the rest.
    app.config["MAX_CONTENT_LENGTH"] = MOST_BODY_BYTES + 1
    late = LateWiring(wiring)
    app.extensions[WIRING] = late
    for routes in (v1_routes(late), xtimer_routes(late), health_routes(late)):
        app.register_api(routes)
    finish_document(app)
    add_docs(app)
    add_metrics(app, late)
    keep_settings(app, read_settings if wiring is None else lambda: wiring.settings)
    refuse_other_hosts(app)
    guard(app, late)
    answer_failures(app, {"/v1/": tell_problem, "/api/": tell_in_xtimers_words})
    add_security_headers(app)
    return app
