"""API keys over v1: make, list, revoke. For operators."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import AppName, Given, GivenInPath, GivenMoment, moment, plain
from wangtimer.api.http.moments import read_moment_field
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.apps.app_routes import known_app
from wangtimer.api.v1.resource import MADE, Resource, Route
from wangtimer.api.v1.value_types import ListPage, PageQuery, Text
from wangtimer.core.apps.key_text import ID_CHARACTERS
from wangtimer.core.apps.scopes import ALL_SCOPES, APP_SCOPES, Scope
from wangtimer.core.apps.stored_key import KEY_NAME_CHARACTERS, StoredKey, new_key
from wangtimer.core.errors import Subject
from wangtimer.core.near_misses import near_miss

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
        str, Field(min_length=1, max_length=KEY_NAME_CHARACTERS, examples=["checkout"]), AfterValidator(plain)
    ]
    """who or what it is for"""
    scopes: Annotated[
        list[str] | None,
        Field(min_length=1, max_length=len(Scope), examples=[["timers:read", "timers:write"]]),
    ] = None
    """what it may do; without them all that an app's, or an operator's, key can"""
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

    key: Annotated[str, Field(examples=["wtk_..."])]
    """the key itself: keep it, it is shown this once"""


class KeyPage(ListPage):
    """A page of keys."""

    items: list[ShownKey]


NOT_KEPT = {"Cache-Control": "no-store"}

OF_APP, OF_OPERATORS, KEY = "/apps/<path:app>/keys", "/operator-keys", "<string:key_id>"


class KeyResource(Resource):
    """The operations on keys, of an app or of operators."""

    @Route("get", OF_APP, "listAppKeys")
    def page_of_app(self, path: KeysPath, query: PageQuery) -> KeyPage:
        """List an app's keys, those that have ended too."""
        return self._page(known_app(self.wiring(), path.app).name, query)

    @Route("post", OF_APP, "createAppKey", statuses=MADE)
    def create_of_app(self, path: KeysPath, body: NewKeyBody) -> Reply[MadeKey]:
        """Make a key of an app.

        The answer has the key itself, this once. An app may have several keys: to rotate, make the second, hand it out,
        and revoke the first.
        """
        return self._create(known_app(self.wiring(), path.app).name, body, APP_SCOPES)

    @Route("delete", f"{OF_APP}/{KEY}", "revokeAppKey")
    def revoke_of_app(self, path: AppKeyPath) -> ShownKey:
        """Revoke a key of an app: it is refused everywhere within 5 s."""
        return self._revoke(known_app(self.wiring(), path.app).name, path.key_id)

    @Route("get", OF_OPERATORS, "listOperatorKeys")
    def page_of_operators(self, query: PageQuery) -> KeyPage:
        """List the operators' keys, those that have ended too."""
        return self._page(None, query)

    @Route("post", OF_OPERATORS, "createOperatorKey", statuses=MADE)
    def create_of_operators(self, body: NewKeyBody) -> Reply[MadeKey]:
        """Make an operator's key.

        The answer has the key itself, this once. With `apps:admin` it can make any other key.
        """
        return self._create(None, body, ALL_SCOPES)

    @Route("delete", f"{OF_OPERATORS}/{KEY}", "revokeOperatorKey")
    def revoke_of_operators(self, path: OperatorKeyPath) -> ShownKey:
        """Revoke an operator's key: it is refused everywhere within 5 s."""
        return self._revoke(None, path.key_id)

    def _page(self, app: str | None, query: PageQuery) -> KeyPage:
        keys = self.wiring().api_keys
        return KeyPage.by_name(
            query,
            f"{app or ''} keys",
            lambda after, most: keys.page(app, most, after),
            ShownKey.of,
            name="id",
        )

    def _create(self, app: str | None, body: NewKeyBody, may_have: frozenset[Scope]) -> Reply[MadeKey]:
        wiring = self.wiring()
        now = self.now()
        scopes = may_have if body.scopes is None else _scopes(body.scopes, may_have)
        text, key = new_key(app, body.name, scopes, now, _expiry(body, now))
        wiring.api_keys.add(key)
        return Reply(MadeKey.of(key, key=text.text), 201, NOT_KEPT)

    def _revoke(self, app: str | None, key_id: str) -> ShownKey:
        wiring = self.wiring()
        found: StoredKey | None = wiring.api_keys.revoke(app, key_id, self.now())
        if found is None:
            raise Refused(
                ErrorCode.UNKNOWN_KEY,
                "key_id",
                f"there is no key {shown(key_id)}",
                "list the keys: their ids are not secret",
                about=Subject.KEY,
            )
        return ShownKey.of(found)


def _scopes(words: Sequence[str], may_have: frozenset[Scope]) -> frozenset[Scope]:
    by_word = {scope.value: scope for scope in may_have}
    for place, word in enumerate(words):
        if word not in by_word:
            meant = near_miss(word, by_word)
            raise bad_value(
                f"scopes.{place}",
                f"{shown(word)} is no scope that this key can have",
                f"write one of {', '.join(sorted(by_word))}",
                meant,
            )
    return frozenset(by_word[word] for word in words)


def _expiry(body: NewKeyBody, now: int) -> int | None:
    if body.expires_at is None:
        return None
    expires_at = read_moment_field(body.expires_at, "expiresAt")
    if expires_at <= now:
        raise bad_value("expiresAt", "it is past", "write a later moment, or leave it out")
    return expires_at
