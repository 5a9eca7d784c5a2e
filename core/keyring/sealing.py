"""Sealing and opening with AES-256-GCM, and codes that only a holder of the key can compute."""

import hmac
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from core.keyring import purposes
from core.keyring.purposes import CVC, purpose_of
from core.keyring.steps import Step

BLOB_VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 12
WRAPPED_BYTES = KEY_BYTES + 16  # A data key and its tag.


class SealBroken(Exception):
    """The blob is not what was sealed, or not for this context."""


class UnknownKey(Exception):
    """The blob was sealed with a key that the ring does not hold."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(
            f"The key ring holds no key {key_id!r}: put it back (`manage.py keyring put-back`)."
        )


class KeyRing:
    """The installation's keys. Shows none of them."""

    __slots__ = (
        "_encryption", "_mac", "primaries", "primary", "retired", "retired_at", "steps",
        "superseded",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913  # The parts of a file, each by name.
        self,
        *,
        primary: str,
        encryption: Mapping[str, bytes],
        mac: Mapping[str, bytes],
        primaries: Mapping[str, str] | None = None,
        retired: Iterable[str] = (),
        retired_at: Mapping[str, datetime] | None = None,
        superseded: Iterable[str] = (),
        steps: Iterable[Step] = (),
    ) -> None:
        """Take the keys by name.

        :param primaries: by purpose its primary key; else the one that is named as the purpose.
        :param superseded: the keys that another one has followed: what they made may be renewed.
        :param steps: those that the file has been through.
        """
        self.primary = primary
        # They open what they have sealed; no process is given one of them to seal with.
        self.retired = frozenset(retired)
        self.retired_at = dict(retired_at or {})
        self.superseded = frozenset(superseded)
        self.steps = tuple(steps)
        self._encryption = {key_id: AESGCM(key) for key_id, key in encryption.items()}
        self.primaries = dict(primaries or {name: name for name in mac})
        # By purpose and name, the primary key first.
        self._mac = {
            purpose: {
                first: mac[first],
                **{name: key for name, key in mac.items() if purpose_of(name) == purpose},
            }
            for purpose, first in self.primaries.items()
        }

    def __repr__(self) -> str:
        return f"<KeyRing primary={self.primary}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("A key ring is not copied or written down.")

    @property
    def key_ids(self) -> frozenset[str]:
        """The ids of all keys that open what was sealed."""
        return frozenset(self._encryption)

    @property
    def held(self) -> frozenset[str]:
        """The names of all keys, those of purposes included."""
        return self.key_ids.union(*self._mac.values())

    def names(self, purpose: str) -> tuple[str, ...]:
        """Return the names of a purpose's keys, the primary one first."""
        return tuple(self._mac[purpose])

    def seal(self, plaintext: bytes, *, context: str) -> bytes:
        """Encrypt under a random data key, itself wrapped by the primary key.

        :param context: names the plaintext and its owner; opening under another context fails.
        """
        data_key = AESGCM.generate_key(KEY_BYTES * 8)
        bound = _associated(self.primary, context)
        return b"".join(
            (
                _header(self.primary),
                _encrypt(self._encryption[self.primary], data_key, b"key|" + bound),
                _encrypt(AESGCM(data_key), plaintext, b"data|" + bound),
            )
        )

    def open(self, blob: bytes, *, context: str) -> bytes:
        """Decrypt what `seal` returned.

        :raises SealBroken: the blob was changed, or sealed for another context.
        :raises UnknownKey: it was sealed with a key that is not in the ring.
        """
        sealed = _Sealed.read(blob)
        data_key = self._data_key(sealed, context)
        bound = _associated(sealed.key_id, context)
        return _decrypt(AESGCM(data_key), sealed.ciphertext, b"data|" + bound)

    def verify(self, blob: bytes, *, context: str) -> None:
        """Make sure that the ring's key is the one that the blob was sealed with.

        The plaintext stays sealed: the key is what its data key is wrapped by.

        :raises SealBroken: it is another key, the blob was changed, or for another context.
        :raises UnknownKey: it was sealed with a key that is not in the ring.
        """
        self._data_key(_Sealed.read(blob), context)

    def _data_key(self, sealed: "_Sealed", context: str) -> bytes:
        if sealed.key_id not in self._encryption:
            raise UnknownKey(sealed.key_id)
        bound = _associated(sealed.key_id, context)
        return _decrypt(self._encryption[sealed.key_id], sealed.wrapped_key, b"key|" + bound)

    def rewrap(self, blob: bytes, *, context: str) -> bytes:
        """Seal the same plaintext under the primary key; the caller never sees it.

        :raises SealBroken: the blob was changed, or sealed for another context.
        :raises UnknownKey: it was sealed with a key that is not in the ring.
        """
        return self.seal(self.open(blob, context=context), context=context)

    def key_id_of(self, blob: bytes) -> str:
        """Return the id of the key that the blob was sealed with.

        :raises SealBroken: it is no blob.
        """
        return _Sealed.read(blob).key_id

    def seal_cvc(self, plaintext: bytes, *, context: str) -> bytes:
        """Encrypt under the key that seals CVCs and nothing else."""
        key = AESGCM(self._mac[CVC][self.primaries[CVC]])
        return bytes([BLOB_VERSION]) + _encrypt(key, plaintext, _associated(CVC, context))

    def open_cvc(self, blob: bytes, *, context: str) -> bytes:
        """Decrypt what `seal_cvc` returned.

        :raises SealBroken: the blob was changed, or sealed for another context.
        """
        bound = _associated(CVC, context)
        return self._opened(CVC, blob, bound, lambda name: self._mac[CVC][name])[1]

    def seal_for(
        self, purpose: str, plaintext: bytes, *, context: str, secret: bytes = b""
    ) -> bytes:
        """Encrypt under the primary key of one purpose.

        The blob does not say which one: each of the purpose's keys is tried.

        :param context: names the plaintext and its owner; opening under another context fails.
        :param secret: held elsewhere: without it the ring does not open the blob either.
        """
        key = AESGCM(self._key_for(purpose, self.primaries[purpose], secret))
        sealed = _encrypt(key, plaintext, _associated(purpose, context))
        return bytes([BLOB_VERSION]) + sealed

    def open_for(self, purpose: str, blob: bytes, *, context: str, secret: bytes = b"") -> bytes:
        """Decrypt what `seal_for` returned.

        :raises SealBroken: the blob was changed, or sealed for another context, purpose or secret.
        """
        bound = _associated(purpose, context)
        return self._opened(
            purpose, blob, bound, lambda name: self._key_for(purpose, name, secret)
        )[1]

    def sealed_for_by(self, purpose: str, blob: bytes, *, context: str) -> str:
        """Return the name of the key by which `seal_for` sealed, without a secret.

        :raises SealBroken: none of the purpose's keys opens the blob.
        """
        bound = _associated(purpose, context)
        return self._opened(purpose, blob, bound, lambda name: self._key_for(purpose, name, b""))[0]

    def _opened(
        self, purpose: str, blob: bytes, bound: bytes, key_of: Callable[[str], bytes]
    ) -> tuple[str, bytes]:
        """Return the name of the key that opens a blob, and the plaintext."""
        if blob[:1] != bytes([BLOB_VERSION]):
            raise SealBroken("The blob has an unknown version.")
        for name in self.names(purpose):
            try:
                return name, _decrypt(AESGCM(key_of(name)), blob[1:], bound)
            except SealBroken:
                continue
        raise SealBroken("The blob was changed, or sealed for something else.")

    def _key_for(self, purpose: str, name: str, secret: bytes) -> bytes:
        # Not the purpose's own key: one key, one use.
        return self.mac(purpose, b"seal" + secret, key=name)

    def mac(self, purpose: str, data: bytes, *, key: str | None = None) -> bytes:
        """Return HMAC-SHA-256 of the data under the purpose's primary key.

        :param key: the name of another of its keys.
        """
        return hmac.digest(self._mac[purpose][key or self.primaries[purpose]], data, "sha256")

    def macs(self, purpose: str, data: bytes) -> list[bytes]:
        """Return the codes under each of the purpose's keys, that of the primary one first.

        A code that was kept, or went out, is one of them; new ones are made by `mac`.
        """
        return [self.mac(purpose, data, key=name) for name in self.names(purpose)]

    def fingerprints(self, purpose: str, data: bytes) -> list[str]:
        """Return what `macs` does, as texts that name their key; new rows keep the first."""
        return [
            purposes.fingerprint(name, self.mac(purpose, data, key=name))
            for name in self.names(purpose)
        ]

    def marked(self, purpose: str, data: bytes) -> list[bytes]:
        """Return what `macs` does, as bytes that name their key; new rows keep the first."""
        return [
            purposes.marked(name, self.mac(purpose, data, key=name)) for name in self.names(purpose)
        ]

    def maker_of(self, purpose: str, data: bytes, code: bytes) -> str | None:
        """Return the name of the key that made a code; None if none of the purpose's keys did."""
        for name in self.names(purpose):
            if hmac.compare_digest(self.mac(purpose, data, key=name), code):
                return name
        return None


# --- The blob ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sealed:
    """version, length of the key id, key id, wrapped data key, ciphertext.

    The last two begin with their nonce and end with their tag.
    """

    key_id: str
    wrapped_key: bytes
    ciphertext: bytes

    @classmethod
    def read(cls, blob: bytes) -> "_Sealed":
        if len(blob) < 2 or blob[0] != BLOB_VERSION:
            raise SealBroken("The blob has an unknown version.")
        key_end = 2 + blob[1]
        wrapped_end = key_end + NONCE_BYTES + WRAPPED_BYTES
        try:
            key_id = blob[2:key_end].decode("ascii")
        except UnicodeDecodeError as error:
            raise SealBroken("The blob's key id is unreadable.") from error
        return cls(key_id, blob[key_end:wrapped_end], blob[wrapped_end:])


def _header(key_id: str) -> bytes:
    name = key_id.encode("ascii")
    return bytes([BLOB_VERSION, len(name)]) + name


def _associated(key_id: str, context: str) -> bytes:
    return _header(key_id) + context.encode()


def _encrypt(key: AESGCM, plaintext: bytes, associated: bytes) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    return nonce + key.encrypt(nonce, plaintext, associated)


def _decrypt(key: AESGCM, sealed: bytes, associated: bytes) -> bytes:
    if len(sealed) < NONCE_BYTES:
        raise SealBroken("The blob is cut short.")
    try:
        return key.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except InvalidTag as error:
        raise SealBroken("The blob was changed, or sealed for something else.") from error
