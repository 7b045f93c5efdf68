"""Signing over v1: the secrets with which an app's callbacks are signed."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.field_types import Given, GivenInPath
from wangtimer.api.http.refusals import bad_value, shown
from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import MADE, Resource, Route
from wangtimer.api.v1.value_types import GivenDuration, Span, Text, duration, read_duration_field
from wangtimer.core.errors import Subject, UnknownSecret
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import LEAST_BYTES, MOST_BYTES, new_key, read_key
from wangtimer.core.time.zones import DAY_MS
from wangtimer.features.signing_changes import SigningChange, SigningChanges

SECRETS = "/signing-secrets"
USUAL_OVERLAP = "1d"
MOST_OVERLAP_DAYS = 30
# Base64 of 64 bytes, and what stands before it.
SECRET_CHARACTERS = 100
# No cache on the way may keep the one answer that has a secret in it.
NOT_STORED = {"Cache-Control": "no-store"}


class SecretPath(GivenInPath):
    """Which secret."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.SECRET: "secret_id"}

    secret_id: Annotated[str, Field(description="the secret's id", examples=["1"])]

    def id_in(self, app: str) -> int:
        """Return the id; raises `UnknownSecret` for text that no secret has as its id."""
        if self.secret_id.isascii() and self.secret_id.isdecimal() and len(self.secret_id) < 10:
            return int(self.secret_id)
        raise UnknownSecret(app, shown(self.secret_id))


class RotationBody(Given):
    """How the new secret replaces the present one."""

    overlap: Annotated[
        GivenDuration,
        duration(
            f"for so long the present secret signs beside the new one: {USUAL_OVERLAP} by default, "
            f"{MOST_OVERLAP_DAYS}d at most; 0s: it ends at once",
            USUAL_OVERLAP,
        ),
    ] = None
    secret: Annotated[
        str | None,
        Field(
            max_length=SECRET_CHARACTERS,
            description=f"a secret of your own: whsec_ and base64 of {LEAST_BYTES} to {MOST_BYTES} bytes; "
            "a new one is made by default",
        ),
    ] = None


class SigningPatch(Given):
    """Whether callbacks are signed."""

    enabled: Annotated[bool, Field(description="false: the app's callbacks are sent without a signature")]


class ShownSecret(Sent):
    """A secret that signs, without its value."""

    id: Annotated[int, Field(description="counts from 1 within the app", examples=[1])]
    created_at: Text
    ends_at: Annotated[Text | None, Field(description="it signs until then; null: until it is replaced")]
    was_shown: Annotated[
        bool, Field(description="false: it was made at the first callback, and nobody has got its value")
    ]


class ShownSigning(Sent):
    """How an app's callbacks are signed."""

    app: Annotated[str, Field(examples=["shop"])]
    enabled: bool
    """whether callbacks are signed"""
    secrets: list[ShownSecret]
    """those that sign now, oldest first; empty before the first callback"""


class ShownSigningChange(ShownSigning):
    """How an app's callbacks are signed from now on."""

    counts_within: Span


class ShownRotation(ShownSigningChange):
    """The new secret: no other answer shows its value."""

    secret: Annotated[str, Field(examples=["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"])]
    """give it to your receivers, and to nobody else; it is shown only here"""


class SigningResource(Resource):
    """The operations on signing secrets."""

    @Route("get", SECRETS, "getSigning")
    def get(self, header: AppHeader) -> ShownSigning:
        """Read how callbacks are signed.

        Each callback carries a signature by Standard Webhooks, unless the app has switched that off. The values of
        secrets are not shown.
        """
        return ShownSigning.of(**_fields(self._changes.get(header.app), self.now()))

    @Route("post", SECRETS, "rotateSecret", (409,), statuses=MADE, is_for_callbacks=True)
    def rotate(self, header: AppHeader, body: RotationBody) -> Reply[ShownRotation]:
        """Make a new signing secret.

        The answer has its value, and no other answer will. The present secret signs beside it for the `overlap`, so
        that receivers have time to learn the new one; each callback then has two signatures. A secret that was never
        shown ends at once. A third secret is refused (409) while two sign. Where the service has lost the key that
        they are encrypted with, an `overlap` of `0s` puts the new one in their place.
        """
        given = USUAL_OVERLAP if body.overlap is None else body.overlap
        key = new_key() if body.secret is None else _key_of(body.secret)
        changed = self._changes.rotate(header.app, key, _overlap_ms(given))
        secret = next(secret for secret in changed.signing.secrets if secret.key == key)
        return Reply(ShownRotation.of(**self._change_fields(changed), secret=secret.text), 201, NOT_STORED)

    @Route("patch", SECRETS, "switchSigning", (409,), is_for_callbacks=True)
    def patch(self, header: AppHeader, body: SigningPatch) -> ShownSigningChange:
        """Switch signing on or off.

        Off, callbacks still have a `webhook-id`, but no `webhook-timestamp` and no `webhook-signature`. The secrets
        stay; on again, they sign again.
        """
        return ShownSigningChange.of(**self._change_fields(self._changes.switch(header.app, body.enabled)))

    @Route("delete", f"{SECRETS}/<string:secret_id>", "endSecret", (404, 409))
    def end(self, path: SecretPath, header: AppHeader) -> ShownSigningChange:
        """End a signing secret before its time, as when it leaked.

        The present one cannot be ended (409): make a new one first, with an `overlap` of `0s`.
        """
        return ShownSigningChange.of(
            **self._change_fields(self._changes.end(header.app, path.id_in(header.app)))
        )

    @property
    def _changes(self) -> SigningChanges:
        return self.wiring().signing_changes

    def _change_fields(self, changed: SigningChange) -> dict[str, object]:
        return {**_fields(changed.signing, self.now()), "counts_within": changed.counts_within_ms}


def _fields(signing: AppSigning, now: int) -> dict[str, object]:
    return {"app": signing.app, "enabled": signing.is_on, "secrets": list(signing.signing_at(now))}


def _key_of(secret: str) -> bytes:
    try:
        return read_key(secret)
    except ValueError as error:
        mend = f"write whsec_ and base64 of {LEAST_BYTES} to {MOST_BYTES} bytes, or leave it out to have one made"
        raise bad_value("secret", str(error), mend) from None


def _overlap_ms(overlap: str) -> int:
    span_ms = read_duration_field(overlap, "overlap")
    if span_ms > MOST_OVERLAP_DAYS * DAY_MS:
        reason = f"it is over {MOST_OVERLAP_DAYS} days"
        raise bad_value("overlap", reason, f"write at most {MOST_OVERLAP_DAYS}d")
    return span_ms
