"""The content of the key ring's file, on the disk and in memory, and whether it is well formed.

On the disk each key is wrapped by the key-encryption key for its place, and a code authenticates
the whole. Members that this version does not know stay.
"""

import base64
import binascii
import hmac
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.keyring import dates, steps
from core.keyring.kek import Kek, KeyRingError, NotUnwrapped
from core.keyring.purposes import (
    CVC,
    LATER_PURPOSES,
    MAC_PURPOSES,
    PURPOSES,
    keys_of_purposes,
    new_key_id,
    primary_of,
    purpose_of,
)
from core.keyring.sealing import KEY_BYTES, KeyRing

FILE_VERSION = 2
CLEAR_VERSION = 1  # Its keys are not wrapped.
# The kind of installation that the ring was made for; a ring of before has no such member.
MADE_FOR = "made_for"
LIVE = "live"
# They are compared with what the database makes of a blob's first bytes: nothing to escape.
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")


def fresh(made_for: str | None) -> dict[str, Any]:
    """Return the content of a new key ring.

    :param made_for: `sandbox` or `live`; None for a throw-away ring, which both may use.
    """
    key_id = new_key_id()
    return {
        "version": FILE_VERSION,
        **({MADE_FOR: made_for} if made_for else {}),
        "primary": key_id,
        "encryption": {key_id: new_key()},
        "mac": {purpose: new_key() for purpose in MAC_PURPOSES},
        "cvc": new_key(),
        "about": {name: dates.made(is_active=True) for name in (key_id, *MAC_PURPOSES, "cvc")},
    }


def wrapped(content: dict[str, Any], kek: Kek) -> dict[str, Any]:
    """Return what is written to the disk: its keys wrapped, and authenticated as a whole."""
    stored = {
        **content,
        "version": FILE_VERSION,
        "installation": kek.installation,
        "kek": kek.id,
        "encryption": _each(content["encryption"], kek.wrap, "encryption"),
        "mac": _each(content["mac"], kek.wrap, "mac"),
    }
    if CVC in content:
        stored[CVC] = kek.wrap(content[CVC], place=CVC)
    stored.pop("code", None)
    return {**stored, "code": kek.code(_canonical(stored))}


def unwrapped(path: Path, stored: Any, kek: Kek) -> dict[str, Any]:
    """Return the content with its keys in clear.

    :raises KeyRingError: a byte of it was changed, added or taken away.
    """
    rest = {name: value for name, value in stored.items() if name != "code"}
    try:
        if not hmac.compare_digest(kek.code(_canonical(rest)), stored["code"]):
            raise _Malformed("it was changed, or a part of it is missing")
        first = {CVC: kek.unwrap(rest[CVC], place=CVC)} if CVC in rest else {}
        return {
            **rest,
            "encryption": _each(rest["encryption"], kek.unwrap, "encryption"),
            "mac": _each(rest["mac"], kek.unwrap, "mac"),
            **first,
        }
    except NotUnwrapped:
        raise malformed(path, _Malformed("a key in it does not open")) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise malformed(path, error) from None


def read_json(path: Path, text: bytes) -> dict[str, Any]:
    """Return a file as it lies on the disk, its keys wrapped or, from before, in clear.

    :raises KeyRingError: it is no JSON, of another version, or names a key twice.
    """
    try:
        stored = json.loads(text, object_pairs_hook=_once_each)
        if not isinstance(stored, dict):
            raise TypeError
        if stored["version"] not in (CLEAR_VERSION, FILE_VERSION):
            raise _Malformed(f"its version is not {FILE_VERSION}")
    except (ValueError, TypeError, KeyError) as error:
        raise malformed(path, error) from None
    return stored


def _each(keys: dict[str, str], change: Callable[..., str], kind: str) -> dict[str, str]:
    return {name: change(text, place=f"{kind}|{name}") for name, text in keys.items()}


def _canonical(stored: dict[str, Any]) -> bytes:
    return json.dumps(stored, sort_keys=True, separators=(",", ":")).encode("ascii")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Malformed("a member is there twice")
    return members


def missing_of(content: dict[str, Any]) -> list[str]:
    """Return the purposes that the content of a file is too old to have keys of."""
    return [one for one in LATER_PURPOSES if primary_of(content, one) not in content["mac"]]


def retired_in(content: dict[str, Any]) -> list[str]:
    """Return the keys that open and never seal again; an older file names none."""
    return content.get("retired", [])


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


class _Malformed(ValueError):
    """Says what is wrong with the file without quoting it."""


def parsed(path: Path, content: Any, *, is_incomplete: bool = False) -> KeyRing:
    """Return the key ring that a file's content is.

    :raises KeyRingError: it is malformed, or from before this version.
    """
    try:
        missing = missing_of(content)
        ring = _ring(content, [purpose for purpose in PURPOSES if purpose not in missing])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise malformed(path, error) from None
    if missing and not is_incomplete:
        raise KeyRingError(
            f"The key ring at {path} is from before this version: it has no key for "
            f"{', '.join(missing)}. Run `manage.py keyring add-purpose`, and keep a new copy of it."
        )
    return ring


def _ring(content: Any, purposes: Sequence[str]) -> KeyRing:
    primary = content["primary"]
    if primary not in content["encryption"]:
        raise _Malformed("its primary key id is not among its encryption keys")
    if not all(KEY_ID.fullmatch(name) for name in content["encryption"]):
        raise _Malformed("a key id is not 1 to 255 letters, digits, - and _")
    primaries = {purpose: primary_of(content, purpose) for purpose in purposes}
    of_purposes = keys_of_purposes(content)
    _require_there(primaries, of_purposes)
    retired, in_use = retired_in(content), {primary, *primaries.values()}
    if not set(retired) <= (content["encryption"].keys() | of_purposes.keys()) - in_use:
        raise _Malformed("a retired key is its primary one, or not among its keys")
    keys = [*content["encryption"].values(), *of_purposes.values()]
    if len(set(keys)) != len(keys):
        raise _Malformed("two of its keys are the same")
    if future := dates.in_the_future(content.get("about", {})):
        raise _Malformed(f"by this host's clock the date of {future} lies in the future")
    return KeyRing(
        primary=primary,
        retired=retired,
        encryption={name: _key(text) for name, text in content["encryption"].items()},
        mac={name: _key(text) for name, text in of_purposes.items() if purpose_of(name)},
        primaries=primaries,
        retired_at=dates.retired_at(content),
        superseded=dates.superseded(content),
        steps=steps.of(content),
    )


def _require_there(primaries: dict[str, str], of_purposes: dict[str, Any]) -> None:
    for purpose, name in primaries.items():
        if name not in of_purposes:
            raise KeyError(name)
        if purpose_of(name) != purpose:
            raise _Malformed(f"the primary key of {purpose} is of another purpose")


def _key(text: Any) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise _Malformed("a key is not base64") from None
    if len(key) != KEY_BYTES:
        raise _Malformed(f"a key is not {KEY_BYTES} bytes long")
    return key


def malformed(path: Path, error: Exception) -> KeyRingError:
    """Return the refusal of a file, with the reason."""
    # Without the error itself: its text may quote the file.
    return KeyRingError(
        f"The key ring at {path} is malformed ({_reason(error)}): restore it from your backup."
    )


def _reason(error: Exception) -> str:
    if isinstance(error, _Malformed):
        return str(error)
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing"
    return "it is not the JSON of a key ring"
