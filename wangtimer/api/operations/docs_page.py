"""`/openapi.json`, and Swagger UI at `/docs` from the files of its Python package: nothing leaves the machine.

`/docs/errors` explains the error codes, and `/` leads to `/docs`.
"""

from importlib.resources import files

import orjson
from flask import Blueprint, Response, redirect, send_from_directory
from flask_openapi.openapi import OpenAPI
from werkzeug.wrappers import Response as AnyResponse

from wangtimer.api.operations import errors_page

ASSETS = str(files("flask_openapi_swagger").joinpath("templates", "swagger"))
ASSETS_LIVE_S = 3_600

# The browser enforces it: no request to anybody else, whatever Swagger UI would like to fetch.
POLICY = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<title>WangTimer API</title>
<link rel="icon" href="docs/assets/images/swagger.svg">
<link rel="stylesheet" href="docs/assets/css/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/assets/js/swagger-ui-bundle.js"></script>
<script>
SwaggerUIBundle({url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null})
</script>
</body>
</html>
"""


def add_docs(app: OpenAPI) -> None:
    """Serve the document of the routes the app has by now, and the pages that show it and the error codes."""
    document = orjson.dumps(app.api_doc)
    errors = errors_page.errors_page()
    routes = Blueprint("docs", __name__)

    @routes.get("/openapi.json")
    def openapi() -> Response:
        return Response(document, mimetype="application/json")

    @routes.get("/docs")
    def page() -> Response:
        return Response(PAGE, mimetype="text/html", headers={"Content-Security-Policy": POLICY})

    @routes.get("/docs/errors")
    def error_codes() -> Response:
        headers = {"Content-Security-Policy": errors_page.POLICY}
        return Response(errors, mimetype="text/html", headers=headers)

    @routes.get("/")
    def root() -> AnyResponse:
        # Relative, so that it holds behind a proxy that serves the API under a path.
        return redirect("docs")

    @routes.get("/docs/assets/<path:name>")
    def asset(name: str) -> Response:
        return send_from_directory(ASSETS, name, max_age=ASSETS_LIVE_S)

    app.register_blueprint(routes)
