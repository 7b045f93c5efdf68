"""Our own Redis: firings for consumers, as entries of their group's list; what is due together goes in one pipeline."""

from typing import Any

import redis

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.messages.consumer_group import ConsumerEntry, ConsumerGroup, event_of, event_parts
from wangtimer.core.time.clock import Clock
from wangtimer.core.time.moment_text import show_moment
from wangtimer.messaging.link import Confirm
from wangtimer.messaging.message import Message
from wangtimer.messaging.redis_link import RedisLink
from wangtimer.store.redis.connection import ScriptCall
from wangtimer.store.redis.consumers import WHY_FULL, ConsumerLists


class ConsumerLink(RedisLink):
    """A connection for entries; the event is written ahead of the moment, its last words at it."""

    def __init__(self, url: str, timeout_s: float, lists: ConsumerLists, clock: Clock) -> None:
        super().__init__(url, timeout_s, None)
        self._lists = lists
        self._clock = clock

    def _prepared(self, message: Message) -> bytes:
        attempt = int(message.fields["X-WangTimer-Attempt"])
        return event_parts(message.firing_id, attempt, message.fields, message.body)

    def _command(self, message: Message, prepared: bytes) -> tuple[Any, ...]:
        now = int(self._clock.now_ms())
        ack_by = now + message.ack_ms
        entry = ConsumerEntry(
            message.firing_id,
            int(message.fields["X-WangTimer-Attempt"]),
            ack_by,
            event_of(prepared, show_moment(ack_by), message.ack_ms),
        )
        return _evalsha(self._lists.put(ConsumerGroup(message.app, message.place.name), entry, now))

    def _answers(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        answers = super()._answers(commands)
        lost = [
            place
            for place, answer in enumerate(answers)
            if isinstance(answer, redis.exceptions.NoScriptError)
        ]
        if lost:
            self._client.script_load(self._script_text())
            for place, answer in zip(
                lost, super()._answers([commands[place] for place in lost]), strict=True
            ):
                answers[place] = answer
        return answers

    def _script_text(self) -> str:
        nobody = ConsumerGroup("", "")
        return self._lists.put(nobody, ConsumerEntry("", 1, 0, b""), 0).script.text

    def _confirm(self, number: int, answer: Any) -> Confirm:
        if isinstance(answer, Exception):
            return super()._confirm(number, answer)
        full = answer.decode() if isinstance(answer, bytes) else str(answer)
        if not full:
            return Confirm(number, BrokerAnswer.TAKEN)
        why = WHY_FULL.get(full, full)
        return Confirm(
            number, BrokerAnswer.REJECTED, f"not given to consumers: {why}; connect more, or larger windows"
        )


def _evalsha(call: ScriptCall) -> tuple[Any, ...]:
    return ("EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.arguments)
