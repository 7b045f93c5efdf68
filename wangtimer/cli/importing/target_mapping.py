"""The URL that a timer calls, by what its entry calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from wangtimer.cli.importing.entries import Entry

PLACES = ("name", "key")
_PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class TargetMapping:
    """`url` is for all entries, with `{name}` (what the entry calls) and `{key}` in it; `urls` are by name.

    `through` is a named target of Celery instead, whose workers run the tasks.
    """

    url: str
    urls: Mapping[str, str]
    method: str | None
    headers: Mapping[str, str]
    through: str | None = None

    def __post_init__(self) -> None:
        for url in (self.url, *self.urls.values()):
            for place in _PLACE.findall(url):
                if place not in PLACES:
                    raise ValueError(f"{{{place}}} in {url}: there are {{name}} and {{key}}")

    def target_of(self, entry: Entry) -> dict[str, Any]:
        """Return the target of v1 for an entry."""
        if self.through is not None:
            queue = entry.options.get("queue")
            return {"name": self.through, "celery": {**entry.body, **({"queue": queue} if queue else {})}}
        values = {"name": entry.name, "key": entry.key}
        url = self.urls.get(entry.name, self.url)
        target: dict[str, Any] = {"url": _PLACE.sub(lambda found: quote(values[found[1]], safe=""), url)}
        if self.method:
            target["method"] = self.method
        if self.headers:
            target["headers"] = dict(self.headers)
        return target | {"json": dict(entry.body)}
