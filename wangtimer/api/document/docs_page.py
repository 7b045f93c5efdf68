"""`/openapi.json`, and the page `/docs` that shows it; `/` leads there.

The page has an introduction and a first request, and Swagger UI from the files of its Python package: nothing leaves
the machine. `/docs/errors` explains the error codes.
"""

import gzip
import re
from importlib.resources import files

import orjson
from flask import Blueprint, Response, redirect, request, send_from_directory
from flask_openapi.openapi import OpenAPI
from markupsafe import escape
from werkzeug.wrappers import Response as AnyResponse

from wangtimer.api.document import errors_page
from wangtimer.api.http.browser_rules import page_policy, source_of
from wangtimer.api.v1.parameters import APP_HEADER

ASSETS = str(files("flask_openapi_swagger").joinpath("templates", "swagger"))
ASSETS_LIVE_S = 3_600

START = """
SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null})
"""
# The browser enforces it: Swagger UI can fetch nothing from other hosts, and of scripts within the page only START
# runs. Swagger UI styles its own elements. "Try it out" asks this service.
POLICY = page_policy(
    "connect-src 'self'",
    "font-src 'self'",
    "img-src 'self' data:",
    f"script-src 'self' {source_of(START)}",
    "style-src 'self' 'unsafe-inline'",
)
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>WangTimer API</title>
<link rel="icon" href="docs/assets/images/swagger.svg">
<link rel="stylesheet" href="docs/assets/css/swagger-ui.css">
<style>
#introduction {{ max-width: 1420px; margin: 2rem auto 0; padding: 0 20px; font: 1rem/1.5 system-ui, sans-serif }}
#introduction pre {{ overflow-x: auto; padding: 1rem; background: #f3f4f6; font-size: .875rem }}
</style>
</head>
<body>
<main id="introduction">
<h1>WangTimer</h1>
<p>WangTimer calls your services back, on time. You make a <b>timer</b> over HTTP: a cron expression, an interval or one
moment, and the HTTP call to make. It makes that call at each moment, and again while the call fails.</p>
<h2>The first request</h2>
<p>Paste this into a shell, where <code>wangtimer up</code> wrote the file of its API key. It makes a timer. In five
seconds the timer calls a page of the public internet; put a URL of your own in its place, but none of this service:
no timer may call that.</p>
<pre id="first-request">{first_request}</pre>
<p>Then see the result:</p>
<pre id="second-request">{second_request}</pre>
<h2>Where to go from here</h2>
<ul>
<li>Every request has an API key, <code>Authorization: Bearer wtk_...</code>. The key says the app. An operator's key
acts for every app, and names it in the header <code>{app_header}</code>.</li>
<li>Your service may be called more than once for a moment. Every attempt has the same <code>webhook-id</code>: drop
those that you have seen. The call is described under <code>webhooks</code> in
<a href="openapi.json">openapi.json</a>.</li>
<li>An error has a stable <code>code</code>: <a href="docs/errors">all error codes</a>.</li>
<li>Below is every operation, with examples. Those whose tags begin with <i>compatible</i> are for clients of
xTimer.</li>
</ul>
</main>
<div id="swagger-ui"></div>
<script src="docs/assets/js/swagger-ui-bundle.js"></script>
<script>{start}</script>
</body>
</html>
"""
_PLAIN_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+/[A-Za-z0-9._~/-]*", re.ASCII)
FIRST_REQUEST = """\
curl {url}v1/timers -H @.wangtimer/key -H 'Content-Type: application/json' -d '{{
  "schedule": {{"delay": "5s"}},
  "target": {{"url": "https://example.com/", "method": "GET"}}
}}'"""
SECOND_REQUEST = "curl '{url}v1/firings?limit=1' -H @.wangtimer/key"


def page_at(url: str) -> str:
    """Return the page in HTML of a service at this URL, which its commands name unless a shell would quote it."""
    url = url if _PLAIN_URL.fullmatch(url) else "http://localhost:5000/"
    return PAGE.format(
        app_header=APP_HEADER,
        start=START,
        first_request=escape(FIRST_REQUEST.format(url=url)),
        second_request=escape(SECOND_REQUEST.format(url=url)),
    )


def add_docs(app: OpenAPI) -> None:
    """Serve the document of the app's routes so far, and the pages that show it and the error codes."""
    document = orjson.dumps(app.api_doc)
    # Half a megabyte becomes a tenth, which a slow client can take in time.
    zipped = gzip.compress(document, mtime=0)
    errors = errors_page.errors_page()
    routes = Blueprint("docs", __name__)

    @routes.get("/openapi.json")
    def openapi() -> Response:
        answer = Response(document, mimetype="application/json")
        if request.accept_encodings["gzip"]:
            answer.data = zipped
            answer.headers["Content-Encoding"] = "gzip"
        answer.vary.add("Accept-Encoding")
        return answer

    @routes.get("/docs")
    def page() -> Response:
        return Response(
            page_at(request.url_root), mimetype="text/html", headers={"Content-Security-Policy": POLICY}
        )

    @routes.get("/docs/errors")
    def error_codes() -> Response:
        headers = {"Content-Security-Policy": errors_page.POLICY}
        return Response(errors, mimetype="text/html", headers=headers)

    @routes.get("/")
    def root() -> AnyResponse:
        # Relative, so it works behind a proxy that serves the API under a path.
        return redirect("docs")

    @routes.get("/docs/assets/<path:name>")
    def asset(name: str) -> Response:
        return send_from_directory(ASSETS, name, max_age=ASSETS_LIVE_S)

    app.register_blueprint(routes)
