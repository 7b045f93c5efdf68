"""Prints the OpenAPI document: `python -m wangtimer.api.openapi > openapi.json`."""

import json
import sys

from wangtimer.api import create_app


def document() -> str:
    """Return the document as the repository keeps it, indented."""
    return json.dumps(create_app().api_doc, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
