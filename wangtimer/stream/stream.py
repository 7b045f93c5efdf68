"""The work of a stream process: it hands entries to consumers with room, and takes back what they leave."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup
from wangtimer.store.redis.consumers import ConsumerLists, read_word
from wangtimer.store.redis.keys import Keys
from wangtimer.store.sql.accepted_firings import AcceptedFirings, AckState
from wangtimer.stream.consumer import Consumer, EntryKey
from wangtimer.stream.groups import ConnectedGroup, Groups
from wangtimer.stream.stream_redis import StreamRedis

log = structlog.get_logger()

Result = TypeVar("Result")

# Entries that are taken for a group at once: few are held by who may die before they are written.
MOST_AT_ONCE = 100
TICK_S = 1.0
# From one attempt to reach Redis to the next.
PAUSE_S = 1.0
# Ticks between two looks at a group of which nothing is told: a message on a channel may be lost.
LOOK_EVERY = 5
# s between comments on a connection: most proxies close one that is silent for 60 s.
COMMENT_EVERY_S = 15.0
# A firing that was left by so many consumers, each of which lost its connection, waits for its next attempt instead.
MOST_RETURNS = 5
# Firings in a row that a consumer lets run out of time before it is sent away; its window at least.
LEAST_RUN_OUT = 3
# ms; groups without a consumer are forgotten after this.
SEEN_KEPT_MS = 86_400_000
SQL_THREADS = 8
# Of them for what an app's consumers say, however much that is at once.
THREADS_OF_APP = 4
# Of their own: words may keep all others busy, and a revoked key is to count all the same.
DOOR_THREADS = 3
STOPPING = "this process stops; connect again"
GONE_QUIET = "this consumer acknowledged none of its last firings in time; connect again"


@dataclass(frozen=True, slots=True)
class StreamBounds:
    """Consumers of all apps, and of one; bytes of events held; s without reading until a consumer is cut off."""

    connections: int
    connections_per_app: int
    held_bytes: int
    slow_s: float


class Stream:
    """One thread's event loop; `threads` wait for SQL."""

    def __init__(
        self,
        redis: StreamRedis,
        lists: ConsumerLists,
        keys: Keys,
        accepted: AcceptedFirings,
        bounds: StreamBounds,
        why_ended: Callable[[str], str],
    ) -> None:
        self.redis = redis
        self.bounds = bounds
        self.groups = Groups()
        self.is_stopping = False
        self.is_listening = False
        self._lists = lists
        self._keys = keys
        self._accepted = accepted
        # Of the id of a key why it counts no more; "": it counts. Asks SQL.
        self._why_ended = why_ended
        self._threads = ThreadPoolExecutor(SQL_THREADS, thread_name_prefix="stream-sql")
        self._door_threads = ThreadPoolExecutor(DOOR_THREADS, thread_name_prefix="stream-door")
        # Kept while one of an app's words has a thread, or waits for one.
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Start listening; once."""
        with suppress(StoreAway):
            await self.redis.read_clock()
        self._spawn(self._listen_for_ever())
        self._spawn(self._tick_for_ever())
        self._spawn(self._check_keys_for_ever())

    async def stop(self) -> None:
        """Give back what nobody was sent; consumers go on with what they have, and acknowledge it elsewhere."""
        self.send_all_away()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.redis.close()
        for threads in (self._threads, self._door_threads):
            threads.shutdown(wait=False, cancel_futures=True)

    def send_all_away(self) -> None:
        """End all connections, because this process stops."""
        self.is_stopping = True
        for consumer in self.groups.consumers:
            consumer.end(STOPPING)

    async def in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do what waits for SQL."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def in_thread_of(self, app: str, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do what waits for SQL and was asked for by an app, which has `THREADS_OF_APP` at most."""
        room = self._rooms.setdefault(app, asyncio.Semaphore(THREADS_OF_APP))
        async with room:
            return await self.in_thread(work, *arguments)

    async def at_the_door(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Do what waits for SQL before somebody may come in or stay."""
        return await asyncio.get_running_loop().run_in_executor(self._door_threads, work, *arguments)

    def join(self, consumer: Consumer) -> None:
        """Let a consumer have firings."""
        self.look_at(self.groups.join(consumer))

    async def leave(self, consumer: Consumer) -> None:
        """Let others have at once what a consumer leaves; where this process stops, the consumer goes on elsewhere."""
        had, unsent = self.groups.leave(consumer)
        returned = [] if self.is_stopping else await self._still_wanted(had)
        back = [*(entry.returned_once_more() for entry in returned), *unsent]
        if back:
            with suppress(StoreAway):  # else they are tried again once their time is over
                await self.redis.run(self._lists.give_back(consumer.group, back))

    def note_word(self, key: EntryKey, until: int) -> None:
        """Note what was said of an entry, here or elsewhere: it has ended (0), or goes on until a moment (ms UTC)."""
        if until:
            self.groups.prolong(key, until)
            return
        consumer = self.groups.let_go(key)
        if consumer is not None:
            consumer.run_out = 0
            self._look_again(consumer.group)

    def look_at(self, group: ConnectedGroup) -> None:
        """Take entries of a group for those with room."""
        group.is_to_be_looked_at = True
        if not group.is_being_looked_at:
            group.is_being_looked_at = True
            self._spawn(self._hand_out(group))

    async def _hand_out(self, group: ConnectedGroup) -> None:
        try:
            while group.is_to_be_looked_at and group.consumers:
                group.is_to_be_looked_at = False
                most = min(group.room, MOST_AT_ONCE) if self._has_bytes_for(group.group.app) else 0
                if most:
                    await self._take(group, most)
        except StoreAway as away:
            log.warning("entries_not_taken", group=group.group.key, error=str(away))
        finally:
            group.is_being_looked_at = False

    async def _take(self, group: ConnectedGroup, most: int) -> None:
        call = self._lists.take(group.group, most, self.redis.now_ms())
        entries = self._read_each(group, await self.redis.run(call))
        left = []
        for entry in entries:
            if self.groups.has((entry.firing_id, entry.attempt)):
                continue  # its executor could not tell whether it was put, and put it again
            consumer = group.next_with_room()
            if consumer is None:
                left.append(entry)
            else:
                self.groups.give(consumer, entry)
        if left:
            await self.redis.run(self._lists.give_back(group.group, left))
        elif entries:  # there may be more
            group.is_to_be_looked_at = True

    def _read_each(self, group: ConnectedGroup, packed: Sequence[bytes]) -> list[ConsumerEntry]:
        """Read entries one by one; one that cannot be read, say of another version, is left to its next attempt."""
        entries = []
        for entry in packed:
            try:
                entries.append(self._lists.read(group.group, entry))
            except Exception as error:
                log.error("entry_cannot_be_read", group=group.group.key, error=repr(error))
        return entries

    def _has_bytes_for(self, app: str) -> bool:
        most = self.bounds.held_bytes
        return self.groups.all_bytes < most and self.groups.bytes_of(app) < most // 2

    def _look_again(self, group: ConsumerGroup) -> None:
        found = self.groups.find(group.key)
        if found is not None:
            self.look_at(found)

    async def _still_wanted(self, entries: Sequence[ConsumerEntry]) -> list[ConsumerEntry]:
        """Return those that are still to be acknowledged, and may come again."""
        now = self.redis.now_ms()
        open_entries = [entry for entry in entries if entry.returned < MOST_RETURNS and entry.ack_by > now]
        if not open_entries:
            return []
        states = await self.in_thread(
            self._states, [(entry.firing_id, entry.attempt) for entry in open_entries]
        )
        return [entry for entry, is_open in zip(open_entries, states, strict=True) if is_open]

    def _states(self, keys: Sequence[EntryKey]) -> list[bool]:
        """Tell of each whether it is still to be acknowledged; True where SQL is away."""
        states: list[bool] = []
        for firing_id, attempt in keys:
            timer_id, _, fire_at = firing_id.partition("-")
            member = Member(int(timer_id), int(fire_at), attempt)
            try:
                state = self._accepted.find(member)[0]
            except StoreAway:
                return [*states, *[True] * (len(keys) - len(states))]
            states.append(state in (AckState.COUNTS, AckState.NOT_YET))
        return states

    async def _listen_for_ever(self) -> None:
        channels = (self._keys.consumers_came, self._keys.consumers_spoke)
        while True:
            try:
                async for message in self.redis.messages(*channels):
                    self.is_listening = True
                    if message is None:
                        self._spawn(self._catch_up())
                    else:
                        self._note(*message)
            except StoreAway as away:
                log.warning("stream_lost_redis", error=str(away))
            except Exception:
                log.exception("stream_listening_failed")
            self.is_listening = False
            await asyncio.sleep(PAUSE_S)

    def _note(self, channel: str, text: bytes) -> None:
        if channel == self._keys.consumers_came:
            found = self.groups.find(text.decode())
            if found is not None:
                self.look_at(found)
            return
        try:
            firing_id, attempt, until = read_word(text)
        except ValueError as error:
            log.error("word_cannot_be_read", error=repr(error))
        else:
            self.note_word((firing_id, attempt), until)

    async def _catch_up(self) -> None:
        """Look for entries, and for words, that were told while nobody listened."""
        for group in self.groups:
            self.look_at(group)
        held = self.groups.holding()
        states = await self.in_thread(self._states, held)
        for key, is_open in zip(held, states, strict=True):
            if not is_open:
                self.note_word(key, 0)

    async def _tick_for_ever(self) -> None:
        clock, number = asyncio.get_running_loop(), 0
        commented_at = clock.time()
        while True:
            await asyncio.sleep(TICK_S)
            number += 1
            try:
                self._let_run_out()
                for place, group in enumerate(self.groups):
                    if (place + number) % LOOK_EVERY == 0:
                        self.look_at(group)
                # By the stop-watch: a tick takes seconds while Redis hangs, which is to cut off no connection.
                if clock.time() - commented_at >= COMMENT_EVERY_S:
                    commented_at = clock.time()
                    for consumer in self.groups.consumers:
                        consumer.say_nothing()
                if number % LOOK_EVERY and not self.groups.consumers:
                    continue
                await self.redis.read_clock()
                now = self.redis.now_ms()
                seen = [group.group.key for group in self.groups]
                await self.redis.note_seen(self._keys.consumers_seen, seen, now - SEEN_KEPT_MS)
            except StoreAway as away:
                log.warning("stream_tick_failed", error=str(away))
            except Exception:
                log.exception("stream_tick_failed")

    def _let_run_out(self) -> None:
        for key in self.groups.run_out(self.redis.now_ms()):
            consumer = self.groups.let_go(key)
            if consumer is None:
                continue
            consumer.run_out += 1
            if consumer.run_out >= max(LEAST_RUN_OUT, consumer.window):
                consumer.end(GONE_QUIET)
            self._look_again(consumer.group)

    async def _check_keys_for_ever(self) -> None:
        """Send away whose key counts no more."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                ids = {consumer.key_id for consumer in self.groups.consumers if consumer.key_id is not None}
                ended = await self.at_the_door(self._ended, sorted(ids)) if ids else {}
                for consumer in self.groups.consumers if ended else ():
                    if consumer.key_id in ended:
                        consumer.end(ended[consumer.key_id])
            except Exception:
                log.exception("stream_keys_unchecked")

    def _ended(self, ids: Sequence[str]) -> dict[str, str]:
        ended = {}
        for key_id in ids:
            try:
                why = self._why_ended(key_id)
            except StoreAway:  # nobody can revoke a key then
                break
            if why:
                ended[key_id] = why
        return ended

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
