"""Who holds which firings, read from the store in one step."""

from collections.abc import Iterable
from dataclasses import dataclass

import redis

from wangtimer.core.flow.firing import Member

# What stands in every slice: running with its claim, armed, and due up to a moment.
_LOOK = """
local found = {{}, {}, {}}
for _, key in ipairs(redis.call('KEYS', 'wt:{*}:running')) do
  local owner = string.gsub(key, ':running$', ':owner')
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    table.insert(found[1], member)
    table.insert(found[1], redis.call('HGET', owner, member) or '')
  end
end
for _, key in ipairs(redis.call('KEYS', 'wt:{*}:armed')) do
  for _, member in ipairs(redis.call('ZRANGE', key, 0, -1)) do table.insert(found[2], member) end
end
for _, key in ipairs(redis.call('KEYS', 'wt:{*}:due')) do
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1])) do
    table.insert(found[3], key)
    table.insert(found[3], member)
  end
end
return found
"""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The members in every slice at one instant: `running` with the id of their claim, `due` with their slice."""

    running: dict[Member, str]
    armed: frozenset[Member]
    due: dict[Member, str]

    def running_of(self, pid: int) -> frozenset[Member]:
        """Return what a process of this machine runs: claim ids begin `host:pid/`."""
        return frozenset(m for m, claim in self.running.items() if claim.split("/")[0].endswith(f":{pid}"))

    def due_in(self, tags: Iterable[str]) -> frozenset[Member]:
        """Return what waits in these slices."""
        keys = {_due_key(tag) for tag in tags}
        return frozenset(member for member, key in self.due.items() if key in keys)

    def due_outside(self, tags: Iterable[str]) -> frozenset[Member]:
        """Return what waits in all other slices."""
        keys = {_due_key(tag) for tag in tags}
        return frozenset(member for member, key in self.due.items() if key not in keys)


def _due_key(tag: str) -> str:
    return f"wt:{{{tag}}}:due"


def look(store: redis.Redis, due_until: float = 0) -> Holdings:
    """Read the holdings; needs no write, so that a store whose writers are paused can be read."""
    return parse(store.execute_command("EVAL_RO", _LOOK, 0, int(due_until)))


def flush_after_look(store: redis.Redis) -> Holdings:
    """Read the holdings and delete everything, with nothing in between."""
    with store.pipeline(transaction=True) as both:
        both.execute_command("EVAL_RO", _LOOK, 0, 0)
        both.flushall()
        found, _ = both.execute()
    return parse(found)


def parse(found: list[list[str]]) -> Holdings:
    """Read the script's answer."""
    running, armed, due = found
    return Holdings(
        {Member.parse(m): claim for m, claim in zip(running[::2], running[1::2], strict=True)},
        frozenset(Member.parse(member) for member in armed),
        {Member.parse(member): key for key, member in zip(due[::2], due[1::2], strict=True)},
    )
