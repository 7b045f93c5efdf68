"""Another app's things, by every operation that takes an id: read, changed, acted on."""

from dataclasses import dataclass

from tests.attack.answer import Answer
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from tests.attack.things import Things

UNKNOWN = ", as with nobody's id; nothing has changed"
GONE, NO_CALENDAR, NO_SECRET, NO_TARGET, NO_RULE = (
    f"404 {code}{UNKNOWN}" for code in (40401, 40403, 40407, 40409, 40410)
)
BAD_VALUE, BAD_CALENDAR, BAD_CURSOR = (f"400 {code}{UNKNOWN}" for code in (40007, 40008, 40010))
OPERATORS = f"403 40301{UNKNOWN}"
# A list, a count, or a row for each id: of nothing.
NOTHING = f"200{UNKNOWN}"


@dataclass(frozen=True, slots=True)
class ForeignId:
    """A request with ids of another app's things in it: `$timer`, ..., as `Things` names them."""

    route: str
    kind: str
    path: str
    body: str | None = None
    expected: str = GONE

    @property
    def attack(self) -> Attack:
        return Attack(f"`{self.route}` with the shop's {self.kind}", self.expected, self._carry_out)

    def _carry_out(self, ground: Ground) -> str:
        things, unknown = ground.things, Things.unknown()
        before = ground.state_of("shop")
        foreign, nobodys = (self._send(ground, one) for one in (things, unknown))
        is_same = things.blanked(foreign.text) == unknown.blanked(nobodys.text)
        as_unknown = ", as with nobody's id" if is_same else f", but {nobodys} with nobody's id"
        is_unchanged = ground.state_of("shop") == before
        after = "; nothing has changed" if is_unchanged else "; ROWS OF THE SHOP HAVE CHANGED"
        return f"{foreign}{as_unknown}{after}"

    def _send(self, ground: Ground, ids: Things) -> Answer:
        raw = None if self.body is None else ids.place(self.body).encode()
        return ground.ask(self.route.split()[0], ids.place(self.path), ground.bank, raw=raw)


WHOLE = '{"schedule": {"every": "5m"}, "target": {"url": "http://192.0.2.0.example/"}}'
SPAN = '"since": "2026-01-01T00:00:00Z", "until": "2026-01-01T01:00:00Z"'
SPAN_MS = '"since": 1767225600000, "until": 1767229200000'
CALENDAR = (
    '{"key": "k", "schedule": {"cron": "0 9 * * *", "excludeCalendar": "$calendar"}, '
    '"target": {"url": "http://target.example/"}}'
)
NAMED = '{"key": "through", "schedule": {"every": "5m"}, "target": {"name": "$target"}}'
DEFINITION = (
    '{"name": "n", "cron": "0 9 * * *", "excludeCalendar": "$calendar", '
    '"notifyHTTPParam": {"url": "http://target.example/"}}'
)
V1 = (
    ForeignId("GET /v1/timers/{which}", "timer id", "/v1/timers/$timer"),
    ForeignId("GET /v1/timers/{which}", "key", "/v1/timers/key:$key"),
    ForeignId("PUT /v1/timers/{which}", "timer id", "/v1/timers/$timer", WHOLE),
    ForeignId("PATCH /v1/timers/{which}", "timer id", "/v1/timers/$timer", '{"tags": ["a"]}'),
    ForeignId("PATCH /v1/timers/{which}", "key", "/v1/timers/key:$key", '{"enabled": false}'),
    ForeignId("DELETE /v1/timers/{which}", "timer id", "/v1/timers/$timer"),
    ForeignId("DELETE /v1/timers/{which}", "key", "/v1/timers/key:$key"),
    ForeignId("POST /v1/timers/{which}:enable", "timer id", "/v1/timers/$timer:enable"),
    ForeignId("POST /v1/timers/{which}:disable", "timer id", "/v1/timers/$timer:disable"),
    ForeignId("POST /v1/timers/{which}:fire", "timer id", "/v1/timers/$timer:fire"),
    ForeignId("POST /v1/timers/{which}:fire", "key", "/v1/timers/key:$key:fire"),
    ForeignId("POST /v1/timers/{which}:backfill", "timer id", "/v1/timers/$timer:backfill", f"{{{SPAN}}}"),
    ForeignId("GET /v1/timers", "key", "/v1/timers?key=$key", expected=NOTHING),
    ForeignId("GET /v1/timers", "cursor", "/v1/timers?limit=1&cursor=$cursor", expected=BAD_CURSOR),
    ForeignId("POST /v1/timers", "calendar", "/v1/timers", CALENDAR, BAD_CALENDAR),
    ForeignId(
        "POST /v1/timers:batchCreate",
        "calendar",
        "/v1/timers:batchCreate",
        f'{{"timers": [{CALENDAR}]}}',
        NOTHING,
    ),
    ForeignId(
        "POST /v1/schedules:preview",
        "calendar",
        "/v1/schedules:preview",
        '{"schedule": {"cron": "0 9 * * *", "excludeCalendar": "$calendar"}}',
        BAD_CALENDAR,
    ),
    *(
        ForeignId(
            f"POST /v1/timers:batch{verb}",
            f"{kind}s",
            f"/v1/timers:batch{verb}",
            body,
            NOTHING,
        )
        for verb in ("Enable", "Disable", "Delete")
        for kind, body in (("timer id", '{"ids": [$timer]}'), ("key", '{"keys": ["$key"]}'))
    ),
    ForeignId("GET /v1/firings", "timer id", "/v1/firings?timer=$timer", None, NOTHING),
    ForeignId("GET /v1/firings:count", "timer id", "/v1/firings:count?timer=$timer", None, NOTHING),
    ForeignId("GET /v1/firings/{firing_id}", "firing id", "/v1/firings/$firing"),
    ForeignId("POST /v1/firings/{firing_id}:cancel", "coming firing's id", "/v1/firings/$coming:cancel"),
    ForeignId(
        "POST /v1/firings/{firing_id}:replay", "firing id", "/v1/firings/$firing:replay", None, NOTHING
    ),
    ForeignId("POST /v1/firings:replay", "firing ids", "/v1/firings:replay", '{"ids": ["$firing"]}', NOTHING),
    ForeignId(
        "POST /v1/firings:replay", "timer id", "/v1/firings:replay", f'{{"timer": "$timer", {SPAN}}}', NOTHING
    ),
    ForeignId("GET /v1/dead-letters", "timer id", "/v1/dead-letters?timer=$timer", None, NOTHING),
    ForeignId("GET /v1/dead-letters:count", "timer id", "/v1/dead-letters:count?timer=$timer", None, NOTHING),
    *(
        ForeignId(f"POST /v1/dead-letters:{verb}", kind, f"/v1/dead-letters:{verb}", body, NOTHING)
        for verb in ("replay", "discard")
        for kind, body in (
            ("firing ids", '{"ids": ["$firing"]}'),
            ("timer id", f'{{"timer": "$timer", {SPAN}}}'),
        )
    ),
    ForeignId("GET /v1/calendars/{name}", "calendar", "/v1/calendars/$calendar", None, NO_CALENDAR),
    ForeignId("DELETE /v1/calendars/{name}", "calendar", "/v1/calendars/$calendar", None, NO_CALENDAR),
    ForeignId("GET /v1/targets/{name}", "target", "/v1/targets/$target", None, NO_TARGET),
    ForeignId("PATCH /v1/targets/{name}", "target", "/v1/targets/$target", '{"timeout": "5s"}', NO_TARGET),
    ForeignId("DELETE /v1/targets/{name}", "target", "/v1/targets/$target", None, NO_TARGET),
    ForeignId("GET /v1/targets", "cursor", "/v1/targets?limit=1&cursor=$targets_cursor", expected=BAD_CURSOR),
    ForeignId("DELETE /v1/alert-rules/{name}", "alert rule", "/v1/alert-rules/$rule", None, NO_RULE),
    ForeignId("POST /v1/alert-rules/{name}:test", "alert rule", "/v1/alert-rules/$rule:test", None, NO_RULE),
    ForeignId(
        "GET /v1/alert-rules",
        "cursor",
        "/v1/alert-rules?limit=1&cursor=$rules_cursor",
        expected=BAD_CURSOR,
    ),
    ForeignId("POST /v1/timers", "target", "/v1/timers", NAMED, BAD_VALUE),
    ForeignId(
        "PUT /v1/timers/{which}",
        "target",
        "/v1/timers/key:through",
        '{"schedule": {"every": "5m"}, "target": {"name": "$target"}}',
        BAD_VALUE,
    ),
    ForeignId(
        "POST /v1/timers:batchCreate", "target", "/v1/timers:batchCreate", f'{{"timers": [{NAMED}]}}', NOTHING
    ),
    ForeignId(
        "DELETE /v1/signing-secrets/{secret_id}",
        "secret's id",
        "/v1/signing-secrets/$secret",
        None,
        NO_SECRET,
    ),
)
COMPATIBLE = (
    ForeignId("GET /api/timer/v1/def", "timer id", "/api/timer/v1/def?id=$timer"),
    ForeignId("PATCH /api/timer/v1/def", "timer id", "/api/timer/v1/def", '{"id": $timer, "tags": ["a"]}'),
    ForeignId("DELETE /api/timer/v1/def", "timer id", "/api/timer/v1/def", '{"id": $timer}'),
    ForeignId("DELETE /api/timer/v1/def", "name", "/api/timer/v1/def", '{"name": "$key"}'),
    *(
        ForeignId(f"POST /api/timer/v1/{verb}", kind, f"/api/timer/v1/{verb}", body)
        for verb in ("enable", "unable")
        for kind, body in (("timer id", '{"id": $timer}'), ("name", '{"name": "$key"}'))
    ),
    ForeignId("POST /api/timer/v1/def", "calendar", "/api/timer/v1/def", DEFINITION, BAD_CALENDAR),
    ForeignId("GET /api/timer/v1/defs", "name", "/api/timer/v1/defs?name=$key", expected=NOTHING),
    ForeignId("GET /api/timer/v1/defsByName", "name", "/api/timer/v1/defsByName?name=$key", expected=NOTHING),
    ForeignId("GET /api/task/v1/records", "timer id", "/api/task/v1/records?id=$timer"),
    *(
        ForeignId(f"GET /api/task/v1/{verb}", "timer id", f"/api/task/v1/{verb}?id=$timer", None, NOTHING)
        for verb in ("firings", "export", "counts")
    ),
    ForeignId("GET /api/task/v1/firing", "firing", "/api/task/v1/firing?id=$timer&fireAt=$moment"),
    ForeignId("POST /api/task/v1/fire", "timer id", "/api/task/v1/fire", '{"id": $timer}'),
    ForeignId(
        "POST /api/task/v1/cancel", "firing", "/api/task/v1/cancel", '{"id": $timer, "fireAt": $moment}'
    ),
    ForeignId(
        "POST /api/task/v1/replay",
        "firings",
        "/api/task/v1/replay",
        '{"firings": [{"id": $timer, "fireAt": $moment}]}',
        NOTHING,
    ),
    ForeignId(
        "POST /api/task/v1/replay", "timer id", "/api/task/v1/replay", f'{{"id": $timer, {SPAN_MS}}}', NOTHING
    ),
    ForeignId(
        "POST /api/task/v1/backfill", "timer id", "/api/task/v1/backfill", f'{{"id": $timer, {SPAN_MS}}}'
    ),
)
OF_OPERATORS = tuple(
    ForeignId(route, kind, path, body, OPERATORS)
    for route, kind, path, body in (
        ("GET /v1/apps/{name}", "name", "/v1/apps/shop", None),
        ("PATCH /v1/apps/{name}", "name", "/v1/apps/shop", '{"disabled": true}'),
        ("GET /v1/apps/{app}/keys", "name", "/v1/apps/shop/keys", None),
        ("POST /v1/apps/{app}/keys", "name", "/v1/apps/shop/keys", '{"name": "mine"}'),
        ("DELETE /v1/apps/{app}/keys/{key_id}", "key's id", "/v1/apps/shop/keys/$api_key", None),
        (
            "DELETE /v1/operator-keys/{key_id}",
            "operator's key's id",
            "/v1/operator-keys/$operators_key",
            None,
        ),
        ("GET /v1/audit", "timer id", "/v1/audit?app=shop&subject=$timer", None),
        ("PUT /v1/pauses/{what}", "name", "/v1/pauses/app:shop", "{}"),
        ("PUT /v1/pauses/{what}", "timer id", "/v1/pauses/timer:$timer", "{}"),
        ("DELETE /v1/pauses/{what}", "paused host", "/v1/pauses/$pause", None),
        ("PUT /v1/host-limits/{host}", "limited host", "/v1/host-limits/$limited", '{"callsAtOnce": 1}'),
        ("DELETE /v1/host-limits/{host}", "limited host", "/v1/host-limits/$limited", None),
    )
)
FOREIGN_IDS = (*V1, *COMPATIBLE, *OF_OPERATORS)

# Those that name nothing: they show or make what is the key's own app's, or no app's.
WITHOUT_ID = {
    "PUT /v1/calendars/{name}": "a calendar of this name is the key's own app's",
    "PUT /v1/targets/{name}": "a target of this name is the key's own app's",
    "PUT /v1/alert-rules/{name}": "a rule of this name is the key's own app's",
    "GET /v1/calendars": "a list of the key's own app",
    "GET /v1/brokers": "a list of what the key's own app may use",
    "GET /v1/signing-secrets": "a list of the key's own app",
    "POST /v1/signing-secrets": "makes the key's own app's",
    "PATCH /v1/signing-secrets": "changes the key's own app's",
    "GET /v1/client-certificate": "shows the key's own app's",
    "PUT /v1/client-certificate": "makes the key's own app's",
    "DELETE /v1/client-certificate": "takes away the key's own app's",
    "GET /v1/failing-hosts": "a list of the key's own app",
    "POST /v1/failing-hosts:enable": "a host of this name is the key's own app's",
    "GET /v1/load": "counts of the key's own app",
    "GET /v1/load:allApps": "needs an operator's key",
    "GET /v1/failing-hosts:allApps": "needs an operator's key",
    "GET /v1/pauses": "needs an operator's key",
    "GET /v1/host-limits": "needs an operator's key",
    "GET /metrics": "needs an operator's key",
    "GET /v1/apps": "needs an operator's key",
    "POST /v1/apps": "needs an operator's key",
    "GET /v1/operator-keys": "needs an operator's key",
    "POST /v1/operator-keys": "needs an operator's key",
}

SECTION = Section(
    "Another app's things, by their ids",
    ("API1", "API3"),
    "The app `bank` sends ids of what the app `shop` has, to every operation that takes one. It must learn no more "
    "than of an id that nobody has, and the shop's rows must stay as they are.",
    tuple(one.attack for one in FOREIGN_IDS),
)
