"""The provider `pkcs11`: the key-encryption key, sealed by a key that never leaves a token.

The ring's file has the sealed key. A process opens it once, at its start, and logs out again.
"""

import base64
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from core.keyring.kek import KEK_BYTES, NONCE_BYTES, Kek, KeyRingError, Wrapping

try:
    import pkcs11
except ImportError:  # Only an installation with a token needs it (requirements-token.txt).
    pkcs11 = None  # type: ignore[assignment]

TAG_BITS = 128
# CKF_USER_PIN_FINAL_TRY of PKCS#11: the last try is for a person, and not for processes that are
# started again and again.
FINAL_TRY = 0x20000


def make(installation: str) -> Wrapping:
    """Make a key-encryption key, and seal it by the token's key, which is made if it is missing.

    :raises KeyRingError: the token cannot be used.
    """
    key, nonce = os.urandom(KEK_BYTES), os.urandom(NONCE_BYTES)
    with _session(rw=True) as session:
        sealed = _key(session, _made).encrypt(key, **_sealing(nonce, installation))
    text = base64.b64encode(nonce + sealed).decode("ascii")
    return Wrapping(Kek(installation, key), "pkcs11", sealed=text)


def find(stored: Any) -> Kek:
    """Return the key-encryption key of a ring.

    :param stored: the ring's file as it lies on the disk.
    :raises KeyRingError: the token is away, or has another key.
    """
    installation = str(stored["installation"])
    try:
        blob = base64.b64decode(stored["sealed"], validate=True)
    except (KeyError, ValueError, TypeError):
        raise KeyRingError(
            "The key ring says that a token has its key, and lacks what the token opens: restore "
            "it from your backup."
        ) from None
    with _session() as session:
        key = _key(session, _refused)
        opened = key.decrypt(blob[NONCE_BYTES:], **_sealing(blob[:NONCE_BYTES], installation))
    kek = Kek(installation, opened)
    if kek.id != stored["kek"]:
        raise KeyRingError(_another())
    return kek


@contextmanager
def _session(**options: Any) -> Iterator[Any]:
    if pkcs11 is None:
        raise KeyRingError(
            "KEK_PROVIDER=pkcs11 needs what requirements-token.txt names: install it with pip."
        )
    try:
        token = pkcs11.lib(str(settings.PKCS11_MODULE)).get_token(token_label=settings.PKCS11_TOKEN)
        if token.flags & FINAL_TRY:
            raise KeyRingError(
                "Wrong PINs were tried at the token, and one more locks it. So no process tries "
                "one: set PKCS11_PIN_FILE right, and sign in once by the token's own program."
            )
        with token.open(user_pin=settings.PKCS11_PIN, **options) as session:
            yield session
    except (pkcs11.exceptions.PinIncorrect, pkcs11.exceptions.PinLenRange):
        raise KeyRingError("The token refuses the PIN: set PKCS11_PIN_FILE to its file.") from None
    except (pkcs11.exceptions.NoSuchToken, pkcs11.exceptions.TokenNotPresent):
        raise KeyRingError(
            f"There is no token {settings.PKCS11_TOKEN!r}: plug it in, or set PKCS11_TOKEN to its "
            "label."
        ) from None
    except pkcs11.exceptions.GeneralError:
        raise KeyRingError(_another()) from None
    except pkcs11.exceptions.PKCS11Error as error:
        raise KeyRingError(
            f"The token cannot be used ({type(error).__name__}): look at PKCS11_MODULE, which is "
            f"{settings.PKCS11_MODULE}, and at the token."
        ) from None


def _key(session: Any, otherwise: Callable[[Any], Any]) -> Any:
    kind, label = pkcs11.ObjectClass.SECRET_KEY, settings.PKCS11_KEY
    try:
        return session.get_key(object_class=kind, label=label)
    except pkcs11.exceptions.NoSuchKey:
        return otherwise(session)


def _made(session: Any) -> Any:
    kept = {pkcs11.Attribute.EXTRACTABLE: False, pkcs11.Attribute.SENSITIVE: True}
    return session.generate_key(
        pkcs11.KeyType.AES, KEK_BYTES * 8, label=settings.PKCS11_KEY, store=True, template=kept
    )


def _refused(_session: Any) -> Any:
    raise KeyRingError(
        f"The token has no key {settings.PKCS11_KEY!r}, which seals this key ring's: it is another "
        "token, or was initialized since. Restore it from the token's backup."
    )


def _sealing(nonce: bytes, installation: str) -> dict[str, Any]:
    bound = f"kek|{installation}".encode()
    param = pkcs11.GCMParams(nonce=nonce, aad=bound, tag_bits=TAG_BITS)
    return {"mechanism": pkcs11.Mechanism.AES_GCM, "mechanism_param": param}


def _another() -> str:
    return (
        f"The token's key {settings.PKCS11_KEY!r} does not open this key ring's: it is another "
        "token, or the key ring is another installation's."
    )
