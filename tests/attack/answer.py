"""What the API answered, read for a table."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

# Longer than any request may take.
TIMEOUT_S = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """`str` is its status, and the code of a refusal: "404 40401". Header names in lower case."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> int:
        if "json" not in self.headers.get("content-type", "") or not self.text:
            return 0
        told = self.json
        return int(told.get("code", 0)) if isinstance(told, dict) else 0

    def __str__(self) -> str:
        return f"{self.status} {self.code}" if self.code else str(self.status)


def ask(
    address: str, method: str, path: str, body: bytes | None, headers: dict[str, str], source: str = ""
) -> Answer:
    """Send a request to `host:port`, its path as it is; `source` is the address it comes from."""
    come_from = (source, 0) if source else None
    connection = HTTPConnection(address, timeout=TIMEOUT_S, source_address=come_from)
    try:
        connection.request(method, path, body, headers)
        answered = connection.getresponse()
        named = {name.lower(): value for name, value in answered.getheaders()}
        return Answer(answered.status, named, answered.read().decode(errors="replace"))
    finally:
        connection.close()


def summed(answers: Iterable[object]) -> str:
    """Return what was told, and how often where not all were told the same."""
    found = Counter(map(str, answers))
    if len(found) == 1:
        return f"{next(iter(found))} of each"
    return ", ".join(f"{told} of {number}" for told, number in sorted(found.items()))


def statuses(raw: bytes) -> str:
    """Return the statuses of all answers in what a connection gave, in order; "closed" for none."""
    found = [part.split(b" ", 1)[0].decode(errors="replace") for part in raw.split(b"HTTP/1.1 ")[1:]]
    return " ".join(found) or "closed"
