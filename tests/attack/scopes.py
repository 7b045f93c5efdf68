"""Keys that try what their scopes do not say."""

from tests.api.sample_requests import sample_request
from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from tests.attack.keys import GUARDED
from wangtimer.api.access.rights import RIGHTS
from wangtimer.core.apps.scopes import ALL_SCOPES, OPERATOR_SCOPES, Scope

REFUSED = "403 40301 of each"


def with_one(scope: Scope) -> Attack:
    """Return an attack of a key with this scope on all operations that need another one."""

    def carry_out(ground: Ground) -> str:
        key = ground.key(None, frozenset({scope}))
        others = [route for route in GUARDED if RIGHTS[route] is not scope]
        return summed(ground.ask_sample(sample_request(one, "shop"), key) for one in others)

    return Attack(
        f"A key with `{scope}` alone, on every operation that needs another scope", REFUSED, carry_out
    )


def without(scope: Scope) -> Attack:
    def carry_out(ground: Ground) -> str:
        key = ground.key(None, ALL_SCOPES - {scope})
        own = [route for route in GUARDED if RIGHTS[route] is scope]
        return summed(ground.ask_sample(sample_request(one, "shop"), key) for one in own)

    return Attack(
        f"A key with every scope but `{scope}`, on every operation that needs it", REFUSED, carry_out
    )


def _an_apps_with_all(ground: Ground) -> str:
    """The row in SQL says more than an app's key may have."""
    key = ground.key("bank", ALL_SCOPES)
    operators = [route for route in GUARDED if RIGHTS[route] in OPERATOR_SCOPES]
    return summed(ground.ask_sample(sample_request(one), key) for one in operators)


def _wider(ground: Ground) -> str:
    """An operator's slip: an operator's scope for an app's key."""
    told = [
        ground.ask("POST", "/v1/apps/bank/keys", ground.operator, {"name": "wide", "scopes": [scope]})
        for scope in sorted(OPERATOR_SCOPES)
    ]
    return summed(told)


def _own_key(ground: Ground) -> str:
    told = [
        ground.ask("POST", path, ground.bank, {"name": "more"})
        for path in ("/v1/apps/bank/keys", "/v1/operator-keys")
    ]
    return summed(told)


def _foreign_key_of_an_operator(ground: Ground) -> str:
    key_id = ground.key("shop").split("_")[1]
    return str(ground.ask("DELETE", f"/v1/apps/bank/keys/{key_id}", ground.operator))


def _over_all_apps(ground: Ground) -> str:
    ground.things  # noqa: B018 -- the shop has some
    found = []
    firings = ("/v1/firings", "/v1/firings:count", "/v1/firings:export")
    for path in ("/v1/timers", *firings, "/v1/calendars", "/v1/load"):
        text = ground.ask("GET", path, ground.bank).text
        found.append(sum(text.count(one) for one in ("order-42", "plant-1", '"shop"')))
    return f"{sum(found)} of the shop's things in {len(found)} lists"


def _mass_assignment(ground: Ground) -> str:
    body = {"key": "mass", "schedule": {"every": "1h"}, "target": {"url": ground.target.url}}
    fields = {"app": "shop", "id": 1, "version": 9, "createdAt": 1, "scopes": ["apps:admin"], "__proto__": {}}
    told = [
        ground.ask("POST", "/v1/timers", ground.bank, body | {name: value}) for name, value in fields.items()
    ]
    return summed(told)


def _other_methods(ground: Ground) -> str:
    headers = (
        {"X-HTTP-Method-Override": "DELETE"},
        {"X-Method-Override": "DELETE"},
        {"X-HTTP-Method": "DELETE"},
    )
    reader = ground.key("shop", frozenset({Scope.TIMERS_READ}))
    path = ground.things.place("/v1/timers/$timer")
    told = [str(ground.ask("GET", path, reader, **one)) for one in headers]
    told.append(str(ground.ask("GET", f"{path}?_method=DELETE", reader)))
    is_there = ground.ask("GET", path, ground.shop).status == 200
    return f"{', '.join(told)}; the timer is {'there' if is_there else 'GONE'}"


SECTION = Section(
    "Scopes",
    ("API3", "API5"),
    "A key that lacks the scope of an operation tries the operation, and keys try to become more than they are.",
    (
        *map(with_one, Scope),
        *map(without, (scope for scope in Scope if scope in RIGHTS.values())),
        Attack(
            "An app's key whose row in SQL has all scopes, on every operation of operators",
            REFUSED,
            _an_apps_with_all,
        ),
        Attack("Operators' scopes for an app's key, asked for by an operator", "400 40007 of each", _wider),
        Attack("An app's key makes itself another key, and an operator's", REFUSED, _own_key),
        Attack(
            "A key of `shop`, revoked by an operator as one of `bank`",
            "404 40406",
            _foreign_key_of_an_operator,
        ),
        Attack(
            "Lists and counts without an app, by an app's key",
            "0 of the shop's things in 6 lists",
            _over_all_apps,
        ),
        Attack(
            "Fields that a create does not have: `app`, `id`, `version`, `scopes` and more",
            "400 40004 of each",
            _mass_assignment,
        ),
        Attack(
            "A read that a header or the query calls a delete",
            "200, 200, 200, 200; the timer is there",
            _other_methods,
        ),
    ),
)
