"""Brokers that an operator allowed: each has a name, a URL, and what each app may send to it."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from wangtimer.core.messages.message_place import (
    BROKER_CHARACTERS,
    CONSUMERS_BROKER,
    MessagePlace,
    PlaceKind,
)

EVERY_APP = "*"
_NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_PATTERNS = ("exchanges", "routing_keys", "streams", "lists", "celery_queues", "celery_tasks")
_OF_KIND: Mapping[PlaceKind, str] = {
    PlaceKind.EXCHANGE: "exchanges",
    PlaceKind.STREAM: "streams",
    PlaceKind.LIST: "lists",
    PlaceKind.CELERY: "celery_queues",
}
# What narrows a place of this kind further.
_BESIDE = {"exchanges": "routing_keys", "celery_queues": "celery_tasks"}
AMQP_SCHEMES = ("amqp", "amqps", "pyamqp")
REDIS_SCHEMES = ("redis", "rediss")
_REDIS_KINDS = frozenset({PlaceKind.STREAM, PlaceKind.LIST, PlaceKind.CELERY})
_AMQP_KINDS = frozenset({PlaceKind.EXCHANGE, PlaceKind.CELERY})


class BrokerKind(StrEnum):
    """What a broker is, to those who send there; OTHER: a further transport of kombu, which has queues only."""

    RABBITMQ = "rabbitmq"
    REDIS = "redis"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class BrokerRight:
    """What an app may send; `*` is every app. The patterns are those of file names (`shop.*`), none allows nothing.

    Two have defaults if they are absent: every routing key of a named exchange, and every Celery task.
    """

    app: str
    patterns: Mapping[str, tuple[str, ...]]

    def concerns(self, app: str) -> bool:
        """Tell whether it says something of this app."""
        return self.app in (app, EVERY_APP)

    def narrowed(self, places: Iterable[str], *, has_queues_only: bool) -> "BrokerRight":
        """Return the right with those patterns only that have a meaning at a broker with these kinds of places."""
        kept = {place: self.patterns[place] for place in places if place in self.patterns}
        if has_queues_only and "exchanges" in kept:
            named_by_key = self._fits("exchanges", "") and self.patterns.get("routing_keys")
            kept["exchanges"] = ("",) if named_by_key else ()
        kept = {place: patterns for place, patterns in kept.items() if patterns}
        beside = {_BESIDE[place] for place in kept if place in _BESIDE} & self.patterns.keys()
        return replace(self, patterns=kept | {name: self.patterns[name] for name in beside})

    def allows(self, app: str, place: MessagePlace, task: str) -> bool:
        """Tell whether an app may send there; `task` is for Celery, "" where it is not known yet."""
        if not self.concerns(app) or not self._fits(_OF_KIND[place.kind], place.name):
            return False
        if place.kind is PlaceKind.EXCHANGE:
            # The default exchange leads to the queue that the routing key names: such a queue is allowed by name only.
            others = () if not place.name else ("*",)
            return self._fits("routing_keys", place.routing_key, others)
        return place.kind is not PlaceKind.CELERY or not task or self._fits("celery_tasks", task, ("*",))

    def _fits(self, what: str, name: str, default: tuple[str, ...] = ()) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns.get(what, default))


@dataclass(frozen=True, slots=True)
class NamedBroker:
    """`url` is for no eyes but the client's of the broker: it has a password."""

    name: str
    url: str = field(repr=False)
    rights: tuple[BrokerRight, ...]

    @property
    def scheme(self) -> str:
        """What the broker speaks."""
        return urlsplit(self.url).scheme

    @property
    def kind(self) -> BrokerKind:
        """What those who send know of the broker."""
        if self.scheme in REDIS_SCHEMES:
            return BrokerKind.REDIS
        return BrokerKind.RABBITMQ if self.scheme in AMQP_SCHEMES else BrokerKind.OTHER

    def rights_of(self, app: str) -> list[BrokerRight]:
        """Return what the app may send, without patterns that mean nothing here; none: it may send nothing.

        A message has to fit one of them as a whole.
        """
        places = [_OF_KIND[kind] for kind in PlaceKind if kind in _kinds_of(self.scheme)]
        has_queues_only = self.kind is BrokerKind.OTHER
        rights = (right for right in self.rights if right.concerns(app))
        narrowed = (right.narrowed(places, has_queues_only=has_queues_only) for right in rights)
        return [right for right in narrowed if right.patterns]

    def knows(self, app: str) -> bool:
        """Tell whether the app may send anything at all."""
        return any(right.concerns(app) for right in self.rights)

    def why_not(self, app: str, place: MessagePlace, task: str = "") -> str:
        """Return why this app may not send there, not what others may; "": it may. Apps have own consumer groups."""
        if self.name == CONSUMERS_BROKER and place.kind is PlaceKind.CONSUMERS:
            return ""
        kinds = _kinds_of(self.scheme)
        if place.kind not in kinds:
            return f"the broker takes no {place.kind}, but {', '.join(sorted(kinds))}"
        if place.kind is PlaceKind.EXCHANGE and place.name and self.scheme not in AMQP_SCHEMES:
            # Such an exchange has queues only where the sender itself has bound them; to none, all is lost in silence.
            return 'this broker has queues only: write exchange "", and the queue as routingKey'
        if any(right.allows(app, place, task) for right in self.rights):
            return ""
        return "the operator has not allowed this app to send there"


def why_no_task(brokers: Mapping[str, NamedBroker], app: str, place: MessagePlace, task: str) -> str:
    """Return why an app may not send a Celery task there; "" if it may, or the broker is not known here."""
    broker = brokers.get(place.broker)
    return "" if broker is None else broker.why_not(app, place, task)


def own_consumers(store_url: str) -> NamedBroker:
    """Return what stands for our own Redis among the brokers: it takes what consumers are to get, and nothing else."""
    return NamedBroker(CONSUMERS_BROKER, store_url, ())


def _kinds_of(scheme: str) -> frozenset[PlaceKind]:
    return _REDIS_KINDS if scheme in REDIS_SCHEMES else _AMQP_KINDS


def read_brokers(text: str) -> dict[str, NamedBroker]:
    """Read the operator's file (TOML) of `[[broker]]` and `[[broker.allow]]`. Raises ValueError, which shows no URL."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"it is no TOML: {error}") from None
    _refuse_unknown("the file", said, ("broker",))
    found: dict[str, NamedBroker] = {}
    for number, table in enumerate(_tables(said.get("broker", []), "[[broker]]"), 1):
        broker = _broker(table, f"broker {number}")
        if broker.name in found:
            raise ValueError(f"two brokers are named {broker.name!r}")
        found[broker.name] = broker
    return found


def _broker(said: Mapping[str, Any], where: str) -> NamedBroker:
    _refuse_unknown(where, said, ("name", "url", "allow"))
    name, url = said.get("name"), said.get("url")
    if not isinstance(name, str) or len(name) > BROKER_CHARACTERS or not _NAME.fullmatch(name):
        raise ValueError(f"{where}: name must be a small letter, then small letters, digits, _ and -")
    if name == CONSUMERS_BROKER:
        raise ValueError(
            f"{where}: the name {name!r} stands for consumers that connect to us; choose another"
        )
    if not isinstance(url, str) or not _is_url(url):
        raise ValueError(f"broker {name!r}: url must be as in amqps://user:password@host:5671/vhost")
    rights = tuple(
        _right(table, f"broker {name!r}") for table in _tables(said.get("allow", []), "[[broker.allow]]")
    )
    return NamedBroker(name, url, rights)


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.scheme) and "://" in url and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _right(said: Mapping[str, Any], where: str) -> BrokerRight:
    _refuse_unknown(f"{where}, allow", said, ("app", *_PATTERNS))
    app = said.get("app")
    if not isinstance(app, str) or not app:
        raise ValueError(f'{where}, allow: app must name an app, or be "*"')
    patterns = {name: _texts(said[name], f"{where}, allow: {name}") for name in _PATTERNS if name in said}
    return BrokerRight(app, patterns)


def _texts(said: Any, where: str) -> tuple[str, ...]:
    if not isinstance(said, list) or not all(isinstance(text, str) for text in said):
        raise ValueError(f'{where} must be a list of patterns, as in ["shop.*"]')
    return tuple(said)


def _tables(said: Any, where: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(said, list) or not all(isinstance(table, dict) for table in said):
        raise ValueError(f"{where} must be written with double brackets")
    return said


def _refuse_unknown(where: str, said: Mapping[str, Any], known: Iterable[str]) -> None:
    if unknown := sorted(said.keys() - set(known)):
        raise ValueError(f"{where}: {unknown[0]!r} is not known; there are {', '.join(known)}")
