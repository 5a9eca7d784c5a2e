"""The key ring: every key of the installation, in one file, and what is done with them.

Never derived from SECRET_KEY: that one is rotated when sessions leak, these when cards do.
"""

import base64
import binascii
import hmac
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from core import ids

MAC_PURPOSES = ("api_key", "card_fingerprint", "idempotency", "link")
FILE_VERSION = 1
BLOB_VERSION = 1
KEY_BYTES = 32
NONCE_BYTES = 12
WRAPPED_BYTES = KEY_BYTES + 16  # A data key and its tag.


class KeyRingError(Exception):
    """The key ring's file cannot be used; the text says how to fix it."""


class SealBroken(Exception):
    """The blob is not what was sealed, or not for this context."""


class UnknownKey(Exception):
    """The blob was sealed with a key that the ring does not hold."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        super().__init__(f"The key ring holds no key {key_id!r}: add it back from your backup.")


class KeyRing:
    """The installation's keys. Shows none of them."""

    __slots__ = ("_cvc", "_encryption", "_mac", "primary")

    def __init__(
        self, *, primary: str, encryption: Mapping[str, bytes], mac: Mapping[str, bytes], cvc: bytes
    ) -> None:
        self.primary = primary
        self._encryption = {key_id: AESGCM(key) for key_id, key in encryption.items()}
        self._mac = dict(mac)
        self._cvc = AESGCM(cvc)

    def __repr__(self) -> str:
        return f"<KeyRing primary={self.primary}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("A key ring is not copied or written down.")

    def seal(self, plaintext: bytes, *, context: str) -> bytes:
        """Encrypt under a random data key, itself wrapped by the primary key.

        :param context: what the plaintext is and whose; opening needs the same.
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
        if sealed.key_id not in self._encryption:
            raise UnknownKey(sealed.key_id)
        bound = _associated(sealed.key_id, context)
        data_key = _decrypt(self._encryption[sealed.key_id], sealed.wrapped_key, b"key|" + bound)
        return _decrypt(AESGCM(data_key), sealed.ciphertext, b"data|" + bound)

    def key_id_of(self, blob: bytes) -> str:
        """Return the id of the key that the blob was sealed with.

        :raises SealBroken: it is no blob.
        """
        return _Sealed.read(blob).key_id

    def seal_cvc(self, plaintext: bytes, *, context: str) -> bytes:
        """Encrypt under the key that seals CVCs and nothing else."""
        return bytes([BLOB_VERSION]) + _encrypt(self._cvc, plaintext, _associated("cvc", context))

    def open_cvc(self, blob: bytes, *, context: str) -> bytes:
        """Decrypt what `seal_cvc` returned.

        :raises SealBroken: the blob was changed, or sealed for another context.
        """
        if blob[:1] != bytes([BLOB_VERSION]):
            raise SealBroken("The blob has an unknown version.")
        return _decrypt(self._cvc, blob[1:], _associated("cvc", context))

    def mac(self, purpose: str, data: bytes) -> bytes:
        """Return HMAC-SHA-256 of the data under the purpose's own key."""
        return hmac.digest(self._mac[purpose], data, "sha256")


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


# --- The file ---------------------------------------------------------------------------------


@cache
def ring() -> KeyRing:
    """Return the installation's key ring, read once per process.

    :raises KeyRingError: the file is missing or unusable.
    """
    return load(settings.KEYRING_FILE)


def create(path: Path) -> None:
    """Write a new key ring, readable by its owner only.

    :raises KeyRingError: something is there already, or the place cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    except FileExistsError as error:
        raise KeyRingError(
            f"There is a file at {path} already, and a lost key ring cannot be replaced: "
            "move it away yourself if you are sure."
        ) from error
    except OSError as error:
        raise KeyRingError(
            f"Cannot write a key ring to {path} ({error.strerror}): "
            "make its directory, owned by the service's user."
        ) from error
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(_fresh(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def load(path: Path) -> KeyRing:
    """Read a key ring.

    :raises KeyRingError: it is missing, readable by others, or malformed.
    """
    try:
        content = json.loads(_read_private(path))
        return _parsed(content)
    except FileNotFoundError as error:
        raise KeyRingError(
            f"There is no key ring at {path}: make one with `manage.py create_keyring`, "
            "or set KEYRING_FILE to where it is."
        ) from error
    except OSError as error:
        raise KeyRingError(
            f"Cannot read the key ring at {path} ({error.strerror}): "
            "let the service's user own it, with mode 0400."
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # Without the cause: its text may quote the file.
        raise KeyRingError(
            f"The key ring at {path} is malformed ({_reason(error)}): restore it from your backup."
        ) from None


def _fresh() -> dict[str, Any]:
    key_id = f"k_{ids.random_base62(10)}"
    return {
        "version": FILE_VERSION,
        "primary": key_id,
        "encryption": {key_id: _new_key()},
        "mac": {purpose: _new_key() for purpose in MAC_PURPOSES},
        "cvc": _new_key(),
    }


def _new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def _read_private(path: Path) -> bytes:
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise KeyRingError(
                f"The key ring at {path} can be used by others than its owner: "
                f"run `chmod 0400 {path}`."
            )
        return file.read()


class _Malformed(ValueError):
    """Says what is wrong with the file without quoting it."""


def _parsed(content: Any) -> KeyRing:
    if content["version"] != FILE_VERSION:
        raise _Malformed(f"its version is not {FILE_VERSION}")
    primary = content["primary"]
    if primary not in content["encryption"]:
        raise _Malformed("its primary key id is not among its encryption keys")
    if any(not name.isascii() or len(name) > 255 for name in content["encryption"]):
        raise _Malformed("a key id is not short ASCII")
    return KeyRing(
        primary=primary,
        encryption={name: _key(text) for name, text in content["encryption"].items()},
        mac={purpose: _key(content["mac"][purpose]) for purpose in MAC_PURPOSES},
        cvc=_key(content["cvc"]),
    )


def _key(text: Any) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise _Malformed("a key is not base64") from None
    if len(key) != KEY_BYTES:
        raise _Malformed(f"a key is not {KEY_BYTES} bytes long")
    return key


def _reason(error: Exception) -> str:
    if isinstance(error, _Malformed):
        return str(error)
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return "it is not the JSON of a key ring"
