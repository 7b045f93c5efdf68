"""The finished document of an app: from its routes and models, and from the other parts here."""

from typing import Any

from flask_openapi.openapi import OpenAPI

from wangtimer.api.document.answers import describe_answers
from wangtimer.api.document.described_fields import describe_fields, name_objects, name_values
from wangtimer.api.document.examples import put_examples
from wangtimer.api.document.front import put_front
from wangtimer.api.document.webhooks import put_webhooks


def finish_document(app: OpenAPI) -> None:
    """Finish the document of an app that has all its routes. The app keeps it from then on."""
    document: dict[str, Any] = app.api_doc
    put_front(document)
    name_objects(document)
    describe_fields(document)
    name_values(document)
    describe_answers(document)
    put_examples(document)
    put_webhooks(document)
