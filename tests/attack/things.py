"""What the attacked app has, each with its id, and an id of the same kind that nobody has."""

import re
from dataclasses import dataclass
from string import Template
from typing import TYPE_CHECKING

import trustme

from tests.certificates import pair_of

if TYPE_CHECKING:
    from tests.attack.ground import Ground

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Things:
    """`place("/v1/timers/$timer")` has the id in place of its name; `unknown.place(...)` one that nobody has."""

    ids: dict[str, str]

    def place(self, text: str) -> str:
        return Template(text).substitute(self.ids)

    def blanked(self, text: str) -> str:
        """Return a text in which none of these ids stands any more."""
        for name, one in sorted(self.ids.items(), key=lambda item: (-len(item[1]), item[0])):
            text = re.sub(rf"\b{re.escape(one)}\b", f"${name}", text)
        return text

    @classmethod
    def unknown(cls) -> "Things":
        return cls(
            {
                "timer": "999000111222333",
                "key": "order-no",
                "firing": "999000111222333-1700000000000",
                "moment": "1700000000000",
                "coming": "999000111222444-1700000060000",
                "coming_timer": "999000111222444",
                "coming_moment": "1700000060000",
                "calendar": "plant-no",
                "secret": "77",
                "api_key": "3kTMd8Qx9LbA",
                "operators_key": "3kTMd8Qx9LbA",
                "idempotency": "nobody-sent-this",
                "cursor": "bm90aGluZw",
                "target": "erp-no",
                "targets_cursor": "bm90aGluZw",
                "rule": "night-no",
                "rules_cursor": "bm90aGluZw",
                "pause": "host:nobody.example:443",
                "limited": "nobody.example:443",
            }
        )

    @classmethod
    def made(cls, ground: "Ground") -> "Things":
        """Make them, as their app would."""
        key, url = ground.shop, ground.target.url
        target = {"url": f"{url}shop", "headers": {"Authorization": "of-the-shop"}}
        calendar = {"days": ["2099-01-01"]}
        ground.done("PUT", "/v1/calendars/plant-1", key, calendar)
        body = {"key": "order-42", "schedule": {"delay": "0s"}, "target": target, "tags": ["gold"]}
        timer = ground.done("POST", "/v1/timers", key, body, Idempotency_Key="shop-sent-this")
        later = {"key": "later", "schedule": {"delay": "30m"}, "target": target}
        coming = ground.done("POST", "/v1/timers", key, later)
        outcome = ground.outcome(timer["id"])
        assert outcome.status == "succeeded", outcome
        fired, due = (f"{one}-{ground.moment_of(one)}" for one in (timer["id"], coming["id"]))
        for _ in range(3):
            secrets = ground.done("POST", "/v1/signing-secrets", key, {"overlap": "0s"})["secrets"]
        for name in ("erp-1", "erp-2"):
            ground.done("PUT", f"/v1/targets/{name}", key, target)
        targets = ground.done("GET", "/v1/targets?limit=1", key)
        told = {"kind": "webhook", "url": f"{url}told-to-the-shop"}
        for name in ("night-1", "night-2"):
            rule = {"events": ["missed"], "destination": told}
            ground.done("PUT", f"/v1/alert-rules/{name}", key, rule)
        rules = ground.done("GET", "/v1/alert-rules?limit=1", key)
        chain, private_key = pair_of(trustme.CA(), "shop")
        ground.done("PUT", "/v1/client-certificate", key, {"certificate": chain, "privateKey": private_key})
        host, operator = "pays-the-shop.example:443", ground.operator
        ground.done("PUT", f"/v1/pauses/host:{host}", operator, {"reason": "it moves"})
        ground.done("PUT", f"/v1/host-limits/{host}", operator, {"callsAtOnce": 5})
        page = ground.done("GET", "/v1/timers?limit=1", key)
        return cls(
            {
                "timer": str(timer["id"]),
                "key": "order-42",
                "firing": fired,
                "moment": fired.partition("-")[2],
                "coming": due,
                "coming_timer": str(coming["id"]),
                "coming_moment": due.partition("-")[2],
                "calendar": "plant-1",
                "secret": str(secrets[-1]["id"]),
                "api_key": key.split("_")[1],
                "operators_key": ground.operator.split("_")[1],
                "idempotency": "shop-sent-this",
                "cursor": page["nextCursor"],
                "target": "erp-1",
                "targets_cursor": targets["nextCursor"],
                "rule": "night-1",
                "rules_cursor": rules["nextCursor"],
                "pause": f"host:{host}",
                "limited": host,
            }
        )
