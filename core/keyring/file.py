"""The key ring's file: made once, read at every start, replaced as a whole.

A key that is lost takes with it all that was sealed with it, so no change is made in
place: after a crash the file is the old one or the new one, never a mix
(`core.keyring.changes` has the changes). Members that this version does not know stay.
"""

import base64
import binascii
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core import ids
from core.keyring.sealing import KEY_BYTES, KeyRing

# The first purposes, which every key ring was made with; a file without one of them has lost it.
FIRST_PURPOSES = ("api_key", "card_fingerprint", "idempotency", "link")
# Purposes that the service learnt later: `complete` adds them to older files.
LATER_PURPOSES = (
    "audit_log",
    "email_fingerprint",
    "network_fingerprint",
    "second_factor",
    "session",
)
MAC_PURPOSES = FIRST_PURPOSES + LATER_PURPOSES
FILE_VERSION = 1
# They are compared with what the database makes of a blob's first bytes: nothing to escape.
KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")


class KeyRingError(Exception):
    """The key ring's file cannot be used; the text says how to fix it."""


def load(path: Path) -> KeyRing:
    """Read a key ring.

    :raises KeyRingError: it is missing, readable by others, or malformed.
    """
    return parsed(path, content_of(path))


def create(path: Path) -> None:
    """Write a new key ring, readable by its owner only.

    :raises KeyRingError: something is there already, or the place cannot be written.
    """
    taken = (
        f"There is a file at {path} already, and a lost key ring cannot be replaced: "
        "move it away yourself if you are sure."
    )
    with _new_private_file(path, taken=taken) as file:
        _write(file, _fresh())
    _keep_directory(path.parent)


@contextmanager
def replacing(path: Path, *, is_incomplete: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the file's content, then replace the file atomically by the changed content.

    :param is_incomplete: purposes that are younger than the file may be missing.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    path = path.resolve()  # The file itself: a link to it stays a link.
    draft = path.with_name(f"{path.name}.new")
    taken = (
        "Somebody else is changing the key ring, or a change was broken off: "
        f"if nobody is, delete {draft}."
    )
    file = _new_private_file(draft, taken=taken)
    # From here on the draft is ours, and keeps others from changing the same key ring.
    try:
        with file:
            content = content_of(path)
            parsed(path, content, is_incomplete=is_incomplete)
            yield content
            _hand_over(file, path)
            _write(file, content)
        draft.replace(path)
    except BaseException:
        draft.unlink()
        raise
    _keep_directory(path.parent)


def _new_private_file(path: Path, *, taken: str) -> IO[str]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    except FileExistsError as error:
        raise KeyRingError(taken) from error
    except OSError as error:
        raise KeyRingError(
            f"Cannot write a key ring to {path} ({error.strerror}): "
            "make its directory, owned by the service's user."
        ) from error
    return os.fdopen(descriptor, "w", encoding="ascii")


def _hand_over(file: IO[str], path: Path) -> None:
    """Give the new file to the old one's owner; root's would stop the service's next start."""
    owner = path.stat()
    try:
        os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
    except PermissionError as error:
        raise KeyRingError(f"Run this as the owner of {path}, or as root.") from error


def _write(file: IO[str], content: dict[str, Any]) -> None:
    json.dump(content, file, indent=2)
    file.flush()
    os.fsync(file.fileno())


def _keep_directory(directory: Path) -> None:
    # A new name is on the disk only once its directory is.
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- Its content ------------------------------------------------------------------------------


def _fresh() -> dict[str, Any]:
    key_id = new_key_id()
    return {
        "version": FILE_VERSION,
        "primary": key_id,
        "encryption": {key_id: new_key()},
        "mac": {purpose: new_key() for purpose in MAC_PURPOSES},
        "cvc": new_key(),
    }


def missing_of(content: dict[str, Any]) -> list[str]:
    """Return the purposes that the content of a file is too old to have keys of."""
    return [purpose for purpose in LATER_PURPOSES if purpose not in content["mac"]]


def retired_in(content: dict[str, Any]) -> list[str]:
    """Return the keys that open and never seal again; an older file names none."""
    return content.get("retired", [])


def new_key_id() -> str:
    return f"k_{ids.random_base62(10)}"


def new_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def content_of(path: Path) -> Any:
    """Return what the file holds as JSON.

    :raises KeyRingError: it is missing, readable by others, or no JSON.
    """
    try:
        return json.loads(_read_private(path))
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
    except ValueError as error:
        raise _malformed(path, error) from None


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


def parsed(path: Path, content: Any, *, is_incomplete: bool = False) -> KeyRing:
    """Return the key ring that a file's content is.

    :raises KeyRingError: it is malformed, or from before this version.
    """
    try:
        missing = missing_of(content)
        ring = _ring(content, [purpose for purpose in MAC_PURPOSES if purpose not in missing])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _malformed(path, error) from None
    if missing and not is_incomplete:
        raise KeyRingError(
            f"The key ring at {path} is from before this version: it has no key for "
            f"{', '.join(missing)}. Run `manage.py keyring add-purpose`, and keep a new copy of it."
        )
    return ring


def _ring(content: Any, purposes: Sequence[str]) -> KeyRing:
    if content["version"] != FILE_VERSION:
        raise _Malformed(f"its version is not {FILE_VERSION}")
    primary = content["primary"]
    if primary not in content["encryption"]:
        raise _Malformed("its primary key id is not among its encryption keys")
    if not all(KEY_ID.fullmatch(name) for name in content["encryption"]):
        raise _Malformed("a key id is not 1 to 255 letters, digits, - and _")
    retired = retired_in(content)
    if not set(retired) <= content["encryption"].keys() - {primary}:
        raise _Malformed("a retired key is its primary one, or not among its encryption keys")
    return KeyRing(
        primary=primary,
        retired=retired,
        encryption={name: _key(text) for name, text in content["encryption"].items()},
        mac={purpose: _key(content["mac"][purpose]) for purpose in purposes},
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


def _malformed(path: Path, error: Exception) -> KeyRingError:
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
