"""The check-ups of ways out: the stream for consumers, the mail server, message brokers that apps may send to."""

import socket
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

from redis.exceptions import NoPermissionError

from wangtimer.base.own_servers import broker_refusal, egress_rules_of, found_servers, named_servers
from wangtimer.base.settings import Settings
from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql
from wangtimer.core.egress.egress_rules import EgressRules
from wangtimer.core.errors import BadSetting, StoreAway
from wangtimer.core.messages.message_place import CONSUMERS_BROKER, is_message_url, place_from
from wangtimer.core.messages.named_broker import AMQP_SCHEMES, REDIS_SCHEMES, NamedBroker
from wangtimer.features.alerts.mailer import Mailer, MailNotTaken
from wangtimer.messaging.link import LinkBroken
from wangtimer.messaging.links import link_to
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.consumers import stream_listeners
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import NO_KEYS
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.target_store import TargetChangeKey, TargetStore

STREAM = Part("stream")
PAGE = 1_000
START = (
    "start one: python -m wangtimer.stream (the Procfile has it), with the WANGTIMER_STORE_URL of the others"
)
MAIL, SMTP_URL = Part("mail"), "WANGTIMER_SMTP_URL"
BROKERS, BROKERS_FILE = Part("brokers"), "WANGTIMER_BROKERS_FILE"
_PORTS = {"amqp": 5672, "pyamqp": 5672, "amqps": 5671, "redis": 6379, "rediss": 6379}


def check_stream(settings: Settings) -> Iterator[Finding]:
    """Yield whether a stream process listens, and what is missing; nothing where Redis is away."""
    with closing(RedisConnection(settings.store_url)) as connection:
        try:
            listeners = stream_listeners(connection, Keys(settings.key_prefix))
        except StoreAway:
            return
        except NoPermissionError:
            mend = "take the ACL file that deploy/make-accounts writes now: it allows PUBSUB NUMSUB"
            yield STREAM.warning("this account may not ask the store whether a stream process listens", mend)
            return
    if listeners:
        yield STREAM.ok(f"stream processes that listen: {listeners}")
    else:
        yield from asked_of_sql(settings, needed)


def needed(database: Database) -> Iterator[Finding]:
    """Yield what it means that no stream process listens."""
    target = _target_for_consumers(TargetStore(database, NO_KEYS))
    if target is None:
        yield STREAM.ok("no stream process listens, and no target is for consumers")
        return
    said = f"no stream process listens: what is for consumers fails, as for target {target[1]} of app {target[0]}"
    yield STREAM.error(said, START)


def _target_for_consumers(store: TargetStore) -> tuple[str, str] | None:
    key: TargetChangeKey | None = (-1, "", "")
    while key is not None:
        found, key = store.changed_behind(key, PAGE)
        for name, target in found.items():
            url = target.call.url
            if is_message_url(url) and place_from(url).broker == CONSUMERS_BROKER:
                return name
    return None


def check_mail(settings: Settings) -> Iterator[Finding]:
    """Yield whether the server takes us; no mail is sent. Nothing where no mail is wanted."""
    server = settings.mail_server
    if server is None:
        if settings.smtp_sender:
            said = f"{SMTP_URL} is not set here: callback processes need it"
            yield MAIL.ok(f"{said}; wangtimer doctor --ways-out tries it where one runs")
        return
    place = f"{server.host}:{server.port}"
    try:
        Mailer(server, settings.callback_authorities).log_in()
    except MailNotTaken as why:
        mend = f"look at host, port, user and password of {SMTP_URL}, the server, and the network between"
        yield MAIL.error(f"{place}: {why}", mend)
    except BadSetting as wrong:
        yield MAIL.error(str(wrong), "mail goes over TLS with the authorities of that file")
    else:
        yield MAIL.ok(f"{place} answers" + (", and takes our password" if server.user else ""))


def check_named_brokers(settings: Settings, *, is_way_out: bool) -> Iterator[Finding]:
    """Yield for each whether it takes us; nothing is sent. `is_way_out`: messages leave from this host."""
    try:
        brokers = settings.named_brokers
        rules = egress_rules_of(settings, found_servers(named_servers(settings))) if brokers else None
    except BadSetting as wrong:
        yield BROKERS.error(str(wrong), "web and callback do not start with it")
        return
    for broker in brokers.values():
        assert rules is not None
        yield _judge_broker(broker, settings, rules, is_way_out=is_way_out)
        if not broker.rights:
            said = f"{broker.name}: no app may send to it"
            yield BROKERS.warning(said, f"add [[broker.allow]] below it in {BROKERS_FILE}, or take it out")


def _judge_broker(
    broker: NamedBroker, settings: Settings, rules: EgressRules, *, is_way_out: bool
) -> Finding:
    name, timeout_s = broker.name, settings.callback_connect_timeout_ms / 1_000
    if refusal := broker_refusal(broker.url, rules):
        return BROKERS.error(
            f"{name}: {refusal}",
            f"name another server in {BROKERS_FILE}: it is one of WangTimer's own",
        )
    if why := _unreached(broker, timeout_s):
        said = f"{name}: it cannot be reached from here: {why}"
        if is_way_out:
            return BROKERS.error(
                said,
                f"look at its host and port in {BROKERS_FILE}, the server, and the network between",
            )
        return BROKERS.warning(
            said, "only callback processes must reach it: wangtimer doctor --ways-out where one runs"
        )
    try:
        link = link_to(broker, timeout_s, settings.callback_ca_file)
        try:
            link.open()
        finally:
            link.close()
    except BadSetting as wrong:
        return BROKERS.error(str(wrong), f"mend it in {BROKERS_FILE}")
    except LinkBroken as broken:
        mend = f"look at user, password, virtual host or database, and scheme of its url in {BROKERS_FILE}"
        return BROKERS.error(f"{name}: {broken}", mend)
    if broker.scheme not in (*AMQP_SCHEMES, *REDIS_SCHEMES):
        # Many of kombu's transports ask nothing of their servers before the first message.
        return BROKERS.ok(f"{name} ({broker.scheme}) is set up; whether it answers, the first message shows")
    return BROKERS.ok(f"{name} ({broker.scheme}) answers, and takes our account")


def _unreached(broker: NamedBroker, timeout_s: float) -> str:
    """Return why nothing listens there; "" where something does, or the URL names no host and port."""
    parts = urlsplit(broker.url)
    port = parts.port or _PORTS.get(parts.scheme)
    if not parts.hostname or not port:
        return ""
    try:
        socket.create_connection((parts.hostname, port), timeout_s).close()
    except OSError as failed:
        return (failed.strerror or str(failed) or type(failed).__name__).lower()
    return ""
