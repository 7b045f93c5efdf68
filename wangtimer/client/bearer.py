"""Puts the API key into requests."""

import re

from requests import PreparedRequest
from requests.auth import AuthBase

_SENDABLE = re.compile(r"[!-~]{1,255}")


class Bearer(AuthBase):
    """A key as a bearer token. `requests` would replace a header by a password for the host in `~/.netrc`."""

    def __init__(self, key: str) -> None:
        if not _SENDABLE.fullmatch(key):
            raise ValueError("the API key has a character that no key has; copy it whole, as in wtk_...")
        self._header = f"Bearer {key}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Return the request with the key."""
        request.headers["Authorization"] = self._header
        return request
