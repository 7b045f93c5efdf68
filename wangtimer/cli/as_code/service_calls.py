"""The calls of v1 that `apply` makes."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests

from wangtimer.cli.terminal.asking import HINT, Failed, InDoubt

TIMEOUT_S = 60.0
PAUSE_S, TRIES = 0.5, 4
PAGE = 500
MOST_A_BATCH, MOST_BATCH_BYTES = 1_000, 7 * 1_048_576
AWAY = frozenset({502, 503, 504})
REFUSED_FROM, BROKEN_FROM = 400, 500


@dataclass(frozen=True, slots=True)
class Service:
    """An app's timers over v1, as documents. Not for several threads at once.

    Its methods raise `Failed`, and `InDoubt`.
    """

    url: str
    app: str
    session: requests.Session = field(default_factory=requests.Session)

    def timers_with_tag(self, tag: str) -> Iterator[Mapping[str, Any]]:
        """Yield the app's timers with this tag."""
        return self._pages("/v1/timers", {"tag": tag})

    def all_timers(self) -> Iterator[Mapping[str, Any]]:
        """Yield the app's timers."""
        return self._pages("/v1/timers", {})

    def timer_of_key(self, key: str) -> Mapping[str, Any] | None:
        """Return the timer of this key, None where there is none."""
        return next(self._pages("/v1/timers", {"key": key}), None)

    def unknown_keys(self, keys: Sequence[str]) -> set[str]:
        """Return those of the keys that no timer of the app has."""
        unknown: set[str] = set()
        for begin in range(0, len(keys), MOST_A_BATCH):
            # A dry run only counts.
            asked = {"keys": list(keys[begin : begin + MOST_A_BATCH]), "dryRun": True}
            unknown |= set(self._ask("POST", "/v1/timers:batchDisable", asked, repeats=True)["unknownKeys"])
        return unknown

    def calendar_names(self) -> set[str]:
        """Return the names of the calendars that the app may name."""
        return {one["name"] for one in self._pages("/v1/calendars", {})}

    def create(self, documents: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Make timers, at most `MOST_A_BATCH`, and return what became of each."""
        items: list[Mapping[str, Any]] = self._ask(
            "POST", "/v1/timers:batchCreate", {"timers": list(documents)}, repeats=False
        )["items"]
        return items

    def replace(self, timer_id: int, version: int, document: Mapping[str, Any]) -> None:
        """Make a timer what a document says, where it is still at this version."""
        body = {name: value for name, value in document.items() if name != "key"}
        self._ask("PUT", f"/v1/timers/{timer_id}", body, {"If-Match": f'"{version}"'}, repeats=False)

    def delete(self, timer_ids: Sequence[int]) -> list[Mapping[str, Any]]:
        """Delete timers, and return those that were not, with why."""
        failed: list[Mapping[str, Any]] = []
        for begin in range(0, len(timer_ids), MOST_A_BATCH):
            asked: dict[str, Any] = {"ids": sorted(timer_ids)[begin : begin + MOST_A_BATCH]}
            while True:
                done = self._ask("POST", "/v1/timers:batchDelete", asked, repeats=True)
                failed += done["failed"]
                if not done["remaining"] or done["lastId"] is None:
                    break
                asked["afterId"] = done["lastId"]
        return failed

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        asked: dict[str, Any] = {**query, "limit": PAGE}
        while True:
            page = self._ask("GET", path, query=asked, repeats=True)
            yield from page["items"]
            if page["nextCursor"] is None:
                return
            asked["cursor"] = page["nextCursor"]

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        *,
        repeats: bool,
    ) -> Any:
        """Return the answer; what bears repeating is asked again while the service is away."""
        for tries_left in range(TRIES - 1 if repeats else 0, -1, -1):
            try:
                response = self.session.request(
                    method,
                    self.url.rstrip("/") + path,
                    params=query,
                    data=None if body is None else json.dumps(body, ensure_ascii=False).encode(),
                    headers={
                        "WangTimer-App": self.app.encode(),
                        **({} if body is None else {"Content-Type": "application/json"}),
                        **(headers or {}),
                    },
                    timeout=TIMEOUT_S,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                if tries_left:
                    time.sleep(PAUSE_S)
                    continue
                raise self._unreachable(error, method) from error
            if response.status_code in AWAY and tries_left:
                time.sleep(PAUSE_S)
                continue
            return self._read(response, method)
        raise AssertionError("the last try returns or raises")

    def _read(self, response: requests.Response, method: str) -> Any:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.status_code < REFUSED_FROM and isinstance(answer, dict):
            return answer
        said = answer.get("detail") if isinstance(answer, dict) else None
        text = said or f"{self.url} answered {response.status_code}, not as WangTimer does"
        if response.status_code >= BROKEN_FROM and method != "GET":
            raise InDoubt(text)
        raise Failed(text)

    def _unreachable(self, error: requests.RequestException, method: str) -> Failed:
        text = f"no answer from {self.url}"
        if method == "GET" or isinstance(error, requests.ConnectionError):
            return Failed(text + HINT)
        return InDoubt(text)
