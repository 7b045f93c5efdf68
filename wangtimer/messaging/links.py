"""Which connection a broker's URL asks for."""

from pathlib import Path

from wangtimer.core.errors import BadSetting
from wangtimer.core.messages.named_broker import AMQP_SCHEMES, REDIS_SCHEMES, NamedBroker
from wangtimer.messaging.amqp_link import AmqpLink
from wangtimer.messaging.kombu_link import KombuLink
from wangtimer.messaging.link import Link
from wangtimer.messaging.redis_link import RedisLink

# Messages to one broker without a confirm, in a process: with some thousand the wait for confirms costs nothing.
MOST_UNCONFIRMED = 4_000


def link_to(broker: NamedBroker, timeout_s: float, ca_file: Path | None) -> Link:
    """Return a connection to be opened; raises `BadSetting` for a URL that no client reads."""
    authorities = None if ca_file is None else str(ca_file)
    try:
        if broker.scheme in REDIS_SCHEMES:
            return RedisLink(broker.url, timeout_s, authorities)
        if broker.scheme in AMQP_SCHEMES:
            return AmqpLink(broker.url, timeout_s, authorities)
        return KombuLink(broker.url, timeout_s)
    except Exception:
        # The error may repeat the URL, which has a password.
        reason = f"broker {broker.name!r}: its url cannot be read"
        raise BadSetting(f"{reason}; write it as in amqps://user:password@host:5671/vhost") from None
