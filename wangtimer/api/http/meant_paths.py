"""What somebody meant whose request has a path of no operation, or a verb by another method than its own."""

from urllib.parse import quote

from flask import current_app
from werkzeug.exceptions import HTTPException

from wangtimer.core.near_misses import Names

V1 = "/v1/"
_DOCS = "/docs shows what there is"
# Words of other schedulers for the first part of a path.
_OF_OTHERS = dict.fromkeys(
    ("job", "jobs", "task", "tasks", "cron", "crons", "reminders", "alarms"), "timers"
) | {
    **dict.fromkeys(("run", "runs", "execution", "executions", "history", "logs"), "firings"),
    **dict.fromkeys(("webhook", "webhooks", "callbacks", "endpoints"), "targets"),
}


def verb_at(path: str, *methods: str) -> str | None:
    """Return the verb that stands behind the last colon of a path, if there is one with one of these methods."""
    for method in methods:
        try:
            rule, _ = current_app.url_map.bind("").match(path, method, return_rule=True)
        except HTTPException:
            continue
        _, colon, verb = rule.rule.rpartition(":")
        if colon and verb.isalpha() and path.endswith(f":{verb}"):
            return str(verb)
    return None


def mend_of(path: str) -> str:
    """Return what to write instead of a path of no operation."""
    stem, _, last = path.rpartition("/")
    if stem and not last and current_app.url_map.bind("").allowed_methods(stem):
        return f"leave out the slash at its end: {_shown(stem)}"
    if verb_at(f"{stem}:{last}", "POST", "GET"):
        return f"a verb stands behind a colon: write {_shown(stem)}:{last}"
    if path.startswith("/v1/timers/key:"):
        return "a key with a slash cannot stand in a path; GET /v1/timers?key=... finds the timer's id"
    name = path.removeprefix(V1).strip("/").partition("/")[0].partition(":")[0]
    rules = (rule.rule for rule in current_app.url_map.iter_rules() if rule.rule.startswith(V1))
    known = {rule.removeprefix(V1).partition("/")[0].partition(":")[0] for rule in rules}
    meant = _OF_OTHERS.get(name.lower()) or Names(known).meant_by(name)
    if meant is None or path.startswith(f"{V1}{meant}"):
        return _DOCS
    return f"did you mean {V1}{meant}? {_DOCS}"


def _shown(path: str) -> str:
    return quote(path, safe="/:")[:100]
