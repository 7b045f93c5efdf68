"""Calls the app and keeps what was asked and answered, with moments and ids that do not change from run to run."""

import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.api.world import World

# A Tuesday. Real moments are put off by whole weeks to it, so that weekdays and times of day stay.
SHOWN_AT = 1_796_119_220_000  # 2026-12-01T10:00:20Z
WEEK_MS = 7 * 86_400_000
FIRST_ID = 890_342_217_101_453

_TEXT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?)(Z|[+-]\d\d:\d\d)")
# Of a timer, or with a moment behind it of a firing.
_ID = re.compile(r"\b(\d{15,19})(?:-(\d{13}))?\b")
_KEY = re.compile(r"wtk_\w+")
_PEM = re.compile(r"(-----BEGIN [A-Z ]+-----)\n.*\n(-----END [A-Z ]+-----)\n", re.DOTALL)
_TOKEN = re.compile(r"\d\.[\w-]{43}")
SHOWN_TOKEN = "1.kWJnsfMGoSxh4GqTnJ9QsrmVSrl4nRdS6zL0o8wHk3E"
SHOWN_FINGERPRINT = "6b" * 32
SHOWN_KEY_ID = "3kTMd8Qx9LbA"
SHOWN_KEY = f"wtk_{SHOWN_KEY_ID}_" + "x" * 49
_WIDEST_MS = range(1_500_000_000_000, 4_000_000_000_000)


def next_tuesday(now: int) -> int:
    """Return a moment in the coming weeks that is whole weeks from `SHOWN_AT`; ms UTC."""
    return SHOWN_AT + ((now - SHOWN_AT) // WEEK_MS + 1) * WEEK_MS


@dataclass
class Recorder:
    """`shows("v1GetTimer", which="key:order-42")` sends the request of an operation and keeps it as its example."""

    world: World
    operations: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)

    def shows(
        self, operation_id: str, body: dict[str, Any] | None = None, is_shown: bool = True, **parameters: Any
    ) -> Any:
        """Return the answer; it must be a success. `If_Match` is the parameter `If-Match`."""
        path, method, operation = self._operation(operation_id)
        if any(one["name"] == "WangTimer-App" for one in operation.get("parameters", ())):
            parameters = {"WangTimer_App": "shop"} | parameters
        given = {
            name.replace("_", "-") if name[0].isupper() else name: one for name, one in parameters.items()
        }
        place = {one["name"]: one["in"] for one in operation.get("parameters", [])}
        assert given.keys() <= place.keys(), given.keys() - place.keys()
        for name in (one for one in given if place[one] == "path"):
            path = path.replace(f"{{{name}}}", str(given[name]))
        response = self.world.client.open(
            path,
            method=method.upper(),
            headers={name: given[name] for name in given if place[name] == "header"},
            query_string={name: given[name] for name in given if place[name] == "query"},
            json=body,
        )
        answer = json.loads(response.text) if response.mimetype == "application/json" else response.text
        assert response.status_code < 400, (operation_id, answer)
        if is_shown:
            self._keep(operation_id, given, body, response, answer or None)
        return answer or None

    def told(self, kept: Any) -> Any:
        """Return what was sent or answered with the moments and ids that are shown."""
        match kept:
            case {"id": str(), "scopes": _}:
                # A key, whose id is random.
                return {name: self.told(one) for name, one in kept.items()} | {"id": SHOWN_KEY_ID}
            case {"fingerprint": str()}:
                # Of a certificate that is made anew.
                shown = {"fingerprint": SHOWN_FINGERPRINT}
                return {name: self.told(one) for name, one in kept.items()} | shown
            case {"key_id": str()}:
                return kept | {"key_id": SHOWN_KEY_ID}
            case dict():
                return {name: self.told(one) for name, one in kept.items()}
            case list():
                return [self.told(one) for one in kept]
            case bool():
                return kept
            case int() if kept in _WIDEST_MS:
                return kept - self._later_ms
            case int() if len(str(kept)) >= 15:
                return self._id(str(kept))
            case str():
                if pem := _PEM.fullmatch(kept):
                    return f"{pem[1]}\n...\n{pem[2]}\n"
                if _KEY.fullmatch(kept):
                    return SHOWN_KEY
                if _TOKEN.fullmatch(kept):
                    return SHOWN_TOKEN
                return _TEXT.sub(self._moment, _ID.sub(self._shown_id, kept))
        return kept

    @property
    def _later_ms(self) -> int:
        return round((self.world.clock.now - SHOWN_AT) / WEEK_MS) * WEEK_MS

    def _id(self, real: str) -> int:
        # One after the other, as ids of one process are, and none twice.
        return self.ids.setdefault(real, FIRST_ID + 4_093 * len(self.ids))

    def _shown_id(self, found: re.Match[str]) -> str:
        moment = "" if found[2] is None else f"-{int(found[2]) - self._later_ms}"
        return f"{self._id(found[1])}{moment}"

    def _moment(self, found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0]) - timedelta(milliseconds=self._later_ms)
        digits = "milliseconds" if "." in found[1] else "seconds"
        return moment.isoformat(timespec=digits).replace("+00:00", found[2])

    def _operation(self, operation_id: str) -> tuple[str, str, dict[str, Any]]:
        return next(
            (path, method, operation)
            for path, methods in self.world.app.api_doc["paths"].items()
            for method, operation in methods.items()
            if operation["operationId"] == operation_id
        )

    def _keep(self, operation_id: str, given: dict[str, Any], body: Any, response: Any, answer: Any) -> None:
        kept = self.operations.setdefault(
            operation_id, {"parameters": self.told(given), "body": self.told(body), "answers": {}}
        )
        answered = kept["answers"].setdefault(str(response.status_code), {"headers": {}, "bodies": {}})
        shown = ("Location", "ETag", "Idempotent-Replayed")
        answered["headers"] |= {
            name: self.told(response.headers[name]) for name in shown if name in response.headers
        }
        if answer is not None:
            answered["bodies"][response.mimetype] = self.told(answer)
