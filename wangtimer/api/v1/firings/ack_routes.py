"""What targets say of firings that they accepted, over v1: done, failed, still at it. The call's token is the key."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given
from wangtimer.api.v1.firings.firing_routes import ONE, FiringPath
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import Text
from wangtimer.api.v1.words_of_targets import OF_RESULTS
from wangtimer.features.long_work import ERROR_CHARACTERS

TOKEN_CHARACTERS = 100
# A traceback; what is longer is no word of what failed.
MOST_ERROR_CHARACTERS = 20_000


class AckBody(Given):
    """The token of the call."""

    words_here: ClassVar[Mapping[str, str]] = OF_RESULTS

    token: Annotated[
        str,
        Field(
            min_length=1,
            max_length=TOKEN_CHARACTERS,
            description="the header X-WangTimer-Ack-Token of the call",
            examples=["1.kWJnsfMGoSxh4GqTnJ9QsrmVSrl4nRdS6zL0o8wHk3E"],
        ),
    ]


class NackBody(AckBody):
    """The token of the call, and why it failed."""

    error: Annotated[
        str,
        Field(
            max_length=MOST_ERROR_CHARACTERS,
            description=f"what failed; its first {ERROR_CHARACTERS} characters are on the firing's record",
            examples=["the report has no rows"],
        ),
    ] = ""
    final: Annotated[bool, Field(description="true: it is not tried again")] = False


class Prolonged(Sent):
    """An accepted firing that goes on."""

    ack_by: Annotated[Text, Field(description="until when the target is to say that it is done, or goes on")]


class AckResource(Resource):
    """The operations on accepted firings."""

    @Route("post", f"{ONE}:ack", "ackFiring", (409,), is_for_callbacks=True)
    def ack(self, path: FiringPath, body: AckBody) -> None:
        """Say that a firing is done.

        For a target that answered 202 to a call of a timer with `ackTimeout`. It needs no API key: the token of the
        call is good for its firing alone. A repeat changes nothing. 503 (50304): the answer 202 is not on record yet;
        repeat it in a second, as also `:nack` and `:heartbeat`.
        """
        self.wiring().long_work.ack(*path.timer_and_moment, body.token)

    @Route("post", f"{ONE}:nack", "nackFiring", (409,), is_for_callbacks=True)
    def nack(self, path: FiringPath, body: NackBody) -> None:
        """Say that a firing failed.

        It is tried again as after any failed attempt, unless that is final. It needs no API key, as `:ack`.
        """
        long_work = self.wiring().long_work
        long_work.nack(*path.timer_and_moment, body.token, body.error, is_final=body.final)

    @Route("post", f"{ONE}:heartbeat", "heartbeatFiring", (409,), is_for_callbacks=True)
    def heartbeat(self, path: FiringPath, body: AckBody) -> Prolonged:
        """Say that a firing goes on.

        The target has the whole `ackTimeout` from now on. It needs no API key, as `:ack`.
        """
        until = self.wiring().long_work.heartbeat(*path.timer_and_moment, body.token)
        return Prolonged.of(ack_by=until)
