"""What targets say of firings, told to all stream processes: who has the firing may be connected to another one."""

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Member
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.keys import Keys

log = structlog.get_logger()


class ConsumerWords:
    """A word that is lost leaves a consumer less room until the firing's time is over."""

    def __init__(self, connection: RedisConnection, keys: Keys) -> None:
        self._connection = connection
        self._channel = keys.consumers_spoke

    def tell(self, member: Member, until: int) -> None:
        """Tell that an attempt has ended (0), or goes on until a moment (ms UTC)."""
        text = written_word(member, until)
        try:
            self._connection.command(lambda client: client.publish(self._channel, text))
        except StoreAway as error:
            log.info("word_untold", firing=member.firing_id, error=str(error))


def written_word(member: Member, until: int) -> str:
    """Return the message on the channel."""
    return f"{member.firing_id} {member.attempt} {until}"


def read_word(text: bytes) -> tuple[str, int, int]:
    """Read it: the firing's id, the attempt, and until when; raises ValueError."""
    firing_id, attempt, until = text.decode().split(" ")
    return firing_id, int(attempt), int(until)
