"""Requests of every operation of an app that name another app than their key's."""

from tests.api.sample_requests import sample_request
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from wangtimer.api.access.rights import RIGHTS
from wangtimer.core.apps.scopes import OPERATOR_SCOPES, Scope

# Those of an app; a preview names none.
OF_APPS = [
    route
    for route, right in RIGHTS.items()
    if isinstance(right, Scope) and right not in OPERATOR_SCOPES and "schedules" not in route
]


def naming_the_shop(route: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        before = ground.state_of("shop")
        told = []
        for app in ("shop", "nowhere"):
            sent = sample_request(route, app)
            told.append(ground.ask_sample(sent, ground.bank))
        is_unchanged = ground.state_of("shop") == before
        return f"{told[0]}, of an app that is not there {told[1]}" + ("" if is_unchanged else "; CHANGED")

    return Attack(f"`{route}` for `shop`", "403 40302, of an app that is not there 403 40302", carry_out)


SECTION = Section(
    "Another app, by its name",
    ("API1", "API5"),
    "A request with a key of `bank` says that it is for `shop`, by the header `WangTimer-App`, in the query or in the "
    "body; and for an app that nobody has made. The answers are the same, so nobody finds out which apps there are.",
    tuple(map(naming_the_shop, OF_APPS)),
)
