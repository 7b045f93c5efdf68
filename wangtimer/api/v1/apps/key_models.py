"""What requests and answers have of an API key."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import AppName, Given, GivenInPath, GivenMoment, moment, plain
from wangtimer.api.v1.shown import ListPage, Text
from wangtimer.core.apps.key_text import ID_CHARACTERS
from wangtimer.core.apps.scopes import Scope
from wangtimer.core.apps.stored_key import KEY_NAME_CHARACTERS
from wangtimer.core.errors import Subject

KeyId = Annotated[
    str,
    Field(
        max_length=ID_CHARACTERS,
        description="the key's id: what stands between the first two _ of the key",
        examples=["3kTMd8Qx9LbA"],
    ),
]


class OperatorKeyPath(GivenInPath):
    """Which key of operators."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.KEY: "key_id"}

    key_id: KeyId


class AppKeyPath(OperatorKeyPath):
    """Which key of which app."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.KEY: "key_id", Subject.APP: "app"}

    app: AppName


class KeysPath(Given):
    """Whose keys."""

    named_by: ClassVar[dict[Subject, str]] = {Subject.APP: "app"}

    app: AppName


class NewKeyBody(Given):
    """A key to make."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=KEY_NAME_CHARACTERS,
            description="who or what it is for",
            examples=["checkout"],
        ),
        AfterValidator(plain),
    ]
    scopes: Annotated[
        list[str] | None,
        Field(
            min_length=1,
            max_length=len(Scope),
            description="what it may do; without them all that an app's, or an operator's, key can",
            examples=[["timers:read", "timers:write"]],
        ),
    ] = None
    expires_at: Annotated[GivenMoment, moment("when it ends by itself; null: never")] = None


class ShownKey(Sent):
    """An API key, without its secret."""

    id: Annotated[str, Field(description="its id", examples=["3kTMd8Qx9LbA"])]
    app: Annotated[str | None, Field(description="the app whose key it is; null: an operator's")]
    name: Annotated[str, Field(description="who or what it is for", examples=["checkout"])]
    scopes: Annotated[
        list[str], BeforeValidator(sorted), Field(description="what it may do", examples=[["timers:read"]])
    ]
    created_at: Text
    expires_at: Annotated[Text | None, Field(description="when it ends by itself; null: never")]
    revoked_at: Annotated[Text | None, Field(description="when it was revoked; null: it was not")]
    last_used_at: Annotated[Text | None, Field(description="when it was used last, to a minute; null: never")]


class MadeKey(ShownKey):
    """A new key, with its secret: no other answer has it."""

    key: Annotated[
        str, Field(description="the key itself: keep it, it is shown this once", examples=["wtk_..."])
    ]


class KeyPage(ListPage):
    """A page of keys."""

    items: list[ShownKey]
