"""Headers with every answer, so that a browser does with it what was meant and nothing else.

They are those of https://cheatsheetseries.owasp.org/cheatsheets/REST_Security_Cheat_Sheet.html#security-headers.
`Strict-Transport-Security` is the proxy's, which has the certificate.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from flask import Flask, Response

# An answer is data: no script runs in it, and no page shows it in a frame.
POLICY = "default-src 'none'; frame-ancestors 'none'"
# What stays as it is where a view has said otherwise, such as the policy of a page or how long a file may be kept.
SECURITY_HEADERS: Mapping[str, str] = {
    # Timers, records and errors are one app's: neither a browser nor a proxy keeps them.
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # For browsers without `frame-ancestors`.
    "X-Frame-Options": "DENY",
}


def add_security_headers(app: Flask) -> None:
    """Add them to each answer, errors included."""

    @app.after_request
    def add(response: Response) -> Response:
        # One pass: werkzeug looks through all headers for each that is asked for.
        given = {name.lower() for name, _ in response.headers}
        for name, value in SECURITY_HEADERS.items():
            if name.lower() not in given:
                response.headers.add(name, value)
        return response


def page_policy(*directives: str) -> str:
    """Return the policy of an HTML page that may do what these directives say, and nothing else."""
    rest = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
    return "; ".join(("default-src 'none'", *directives, *rest))


def source_of(text: str) -> str:
    """Return the source that allows this very text within a `<script>` or `<style>`."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
