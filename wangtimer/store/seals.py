"""Seals the secrets of timers' calls and of signatures, so that SQL and Redis have them encrypted only.

AES-256-GCM with a random nonce (NIST SP 800-38D). Whose it is, such as app and timer, is associated data: a seal that
was copied into another row cannot be opened. A sealed text is `1.key id.base64url of nonce and ciphertext`.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import urandom

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from wangtimer.core.errors import InvalidInput, UnopenedSecrets
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.secret_parts import keeps_a_secret, may_have_masks, parted, unmasked, whole
from wangtimer.core.timers.timer import Definition, Notify

NONCE_BYTES = 12
_FORMAT = "1"


class Seals:
    """The keys of a deployment by id; the first one seals, each opens. Without keys, no secret can be stored."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._keys = dict(keys)
        self.sealing_id = next(iter(self._ciphers), None)

    def seal(self, call: Notify, app: str, owner: int | str) -> Notify:
        """Return the masked call with its secrets sealed; one without secrets, or sealed already, as it is.

        `owner` is the id of a timer, or the name of a target. Raises `InvalidInput` where there is no key.
        """
        masked, secrets = parted(call)
        if not secrets:
            return call
        if self.sealing_id is None:
            raise _no_key(call)
        return masked._replace(sealed=self.seal_bytes(orjson.dumps(secrets), _bound_to(app, owner)))

    def seal_bytes(self, plain: bytes, bound_to: bytes) -> str:
        """Return the sealed text of a secret, which opens only for the same `bound_to`; there must be a key."""
        return f"{_FORMAT}.{self.sealing_id}.{urlsafe_b64encode(self._hidden(plain, bound_to)).decode()}"

    def seal_binary(self, plain: bytes, bound_to: bytes) -> bytes:
        """Return the same without Base64, which takes ten times as long."""
        return f"{_FORMAT}.{self.sealing_id}.".encode() + self._hidden(plain, bound_to)

    def _hidden(self, plain: bytes, bound_to: bytes) -> bytes:
        nonce = urandom(NONCE_BYTES)
        return nonce + self._ciphers[str(self.sealing_id)].encrypt(nonce, plain, bound_to)

    def refuse_new(self, call: Notify) -> None:
        """Raise `InvalidInput` where nothing new can have this call: for `***`, or secrets where there is no key."""
        unmasked(call, None)
        if self.sealing_id is None and parted(call)[1]:
            raise _no_key(call)

    def open(self, call: Notify, app: str, owner: int | str) -> Notify:
        """Return the call with its secrets in their places. Raises `UnopenedSecrets`."""
        if not call.sealed:
            return call
        try:
            secrets = self.open_bytes(call.sealed, _bound_to(app, owner))
        except ValueError as error:
            raise UnopenedSecrets(owner, str(error)) from None
        return whole(call, orjson.loads(secrets))

    def open_bytes(self, sealed: str, bound_to: bytes) -> bytes:
        """Return the secret of a sealed text. Raises ValueError, which tells the key's id and nothing of the secret."""
        head, _, text = sealed.rpartition(".")
        try:
            hidden = urlsafe_b64decode(text)
        except ValueError:
            hidden = b""
        return self._opened(head, hidden, bound_to)

    def open_binary(self, sealed: bytes, bound_to: bytes) -> bytes:
        """Return the secret of what `seal_binary` made; raises the same."""
        form, _, rest = sealed.partition(b".")
        key_id, _, hidden = rest.partition(b".")
        return self._opened(
            f"{form.decode(errors='replace')}.{key_id.decode(errors='replace')}", hidden, bound_to
        )

    def _opened(self, head: str, hidden: bytes, bound_to: bytes) -> bytes:
        form, _, key_id = head.partition(".")
        cipher = self._ciphers.get(key_id)
        if cipher is None or form != _FORMAT:
            raise ValueError(f"this process has no key {key_id[:40]!r}")
        try:
            return cipher.decrypt(hidden[:NONCE_BYTES], hidden[NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError):
            raise ValueError(f"they were not sealed for this place under the key {key_id!r}") from None

    def call_of(self, definition: Definition) -> Notify:
        """Return the call that a firing makes. Raises `UnopenedSecrets`."""
        return self.open(definition.notify, definition.app, definition.timer_id)

    def opened(self, target: NamedTarget) -> NamedTarget:
        """Return the target with its secrets in their places. Raises `UnopenedSecrets`."""
        return replace(target, call=self.open(target.call, target.app, target.name))

    def changed(
        self,
        asked: Notify,
        was: Definition | NamedTarget,
        check: Callable[[Notify, Notify | None], None],
    ) -> Notify:
        """Return the changed call of a timer or a target, sealed. In `asked`, `***` stands for the secret there is.

        A call that says the same as before is returned as it is stored. `check` gets the whole call, and the one that
        its kept secrets were given for (None: it keeps none); it may raise to refuse. Raises `InvalidInput`,
        `UnopenedSecrets`.
        """
        held, owner = (was.notify, was.timer_id) if isinstance(was, Definition) else (was.call, was.name)
        try:
            before = self.open(held, was.app, owner)
        except UnopenedSecrets:
            # Whoever gives all secrets anew needs none of the old ones.
            if may_have_masks(asked):
                raise
            return self.seal(asked._replace(sealed=""), was.app, owner)
        after = unmasked(asked, before)
        check(after, before if keeps_a_secret(asked, after) else None)
        return held if after == before else self.seal(after, was.app, owner)

    def derived(self, purpose: bytes) -> tuple[bytes, ...]:
        """Return a key for another purpose from each of the keys, the first one's first; none where there is no key."""
        return tuple(hmac.digest(key, purpose, "sha256") for key in self._keys.values())

    def needs_sealing(self, call: Notify) -> bool:
        """Tell whether the call has secrets that are not sealed under the first key."""
        return not self.is_newest(call.sealed) if call.sealed else bool(parted(call)[1])

    def is_newest(self, sealed: str) -> bool:
        """Tell whether a text is sealed under the first key."""
        return sealed.startswith(f"{_FORMAT}.{self.sealing_id}.")


# Of a process that neither stores secrets nor makes calls.
NO_KEYS = Seals({})


def _bound_to(app: str, owner: int | str) -> bytes:
    return (f"{app}\n{owner}" if isinstance(owner, int) else f"target\n{app}\n{owner}").encode()


def _no_key(call: Notify) -> InvalidInput:
    masked, secrets = parted(call)
    field = "target.url" if "url" in secrets else "target.body"
    if "headers" in secrets:
        field = f"target.headers.{masked.headers[secrets['headers'][0][0]][0][:64]}"
    return InvalidInput(
        field,
        "it is a secret, and this deployment has no key to encrypt secrets with",
        "let its operator set WANGTIMER_SECRET_KEYS_FILE (`wangtimer secrets key` makes a key)",
    )
