"""The key ring's file: made once, read at every start, replaced as a whole.

A key that is lost takes with it all that was sealed with it, so no change is made in
place: after a crash the file is the old one or the new one, never a mix
(`core.keyring.changes` has the changes, `core.keyring.content` what the file holds).
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from core.keyring import dates, kek, steps, token
from core.keyring.content import (
    FILE_VERSION,
    LIVE,
    MADE_FOR,
    fresh,
    malformed,
    parsed,
    read_json,
    unwrapped,
    wrapped,
)
from core.keyring.kek import KeyRingError
from core.keyring.sealing import KeyRing
from core.keyring.steps import Step


def load(path: Path, *, kek_file: Path | None = None) -> KeyRing:
    """Read a key ring.

    :param kek_file: of its key-encryption key, by default KEK_FILE.
    :raises KeyRingError: it is missing, readable by others, or malformed, or its key-encryption key
        is missing; or it was made for a sandbox, and this installation is live.
    """
    content = content_of(path, kek_file=kek_file)
    require_not_of_a_sandbox(path, content)
    return parsed(path, content)


def require_not_of_a_sandbox(path: Path, content: dict[str, Any]) -> None:
    """Keep a sandbox's keys out of a live installation (PCI DSS 3.6.1.1).

    :raises KeyRingError: the file was made for a sandbox, and this installation is live.
    """
    if settings.LIVEMODE and content.get(MADE_FOR, LIVE) != LIVE:
        raise KeyRingError(
            f"The key ring at {path} was made for a sandbox, and this installation is live: set "
            "KEYRING_FILE to another place and make a new one with `manage.py create_keyring`."
        )


def create(
    path: Path,
    *,
    kek_file: Path | None = None,
    wrapping: kek.Wrapping | None = None,
    made_for: str | None = None,
    step: Step | None = None,
) -> None:
    """Write a new key ring, readable by its owner only.

    :param kek_file: the place of a key-encryption key that is made now, by default KEK_FILE.
    :param wrapping: one that has been made.
    :param made_for: `sandbox` or `live`; None for a throw-away ring, which both may use.
    :param step: noted in the file.
    :raises KeyRingError: something is there already, or a place cannot be written.
    """
    _require_free(path)
    made = wrapping or kek.in_file(kek.new_installation(), kek_file or settings.KEK_FILE)
    content = fresh(made_for)
    steps.note(content, step)
    with _replaced(path) as file:
        _require_free(path)  # Again: another process may have made one by now.
        _write(file, wrapped(_wrapped_by(made, content), made.kek))


def wrap(path: Path, wrapping: kek.Wrapping, *, step: Step | None = None) -> None:
    """Wrap all keys of a file by a new key-encryption key; before that they may be in clear.

    :param step: noted in the file.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    with _replaced(path) as file:
        content = content_of(path, may_be_clear=True)
        parsed(path, content, is_incomplete=True)
        steps.note(content, step)
        _hand_over(file, path)
        _write(file, wrapped(_wrapped_by(wrapping, content), wrapping.kek))


def installation_of(path: Path) -> str:
    """Return the id of a ring's installation; a new one for a file that is in clear.

    :raises KeyRingError: the file cannot be used.
    """
    return str(stored_in(path).get("installation") or kek.new_installation())


def is_wrapped(path: Path) -> bool:
    """Return whether the file's keys are wrapped.

    :raises KeyRingError: the file cannot be used.
    """
    return bool(stored_in(path)["version"] == FILE_VERSION)


def stored_in(path: Path) -> dict[str, Any]:
    """Return what the file holds as JSON, its keys wrapped.

    :raises KeyRingError: it is missing, readable by others, or no JSON.
    """
    try:
        return read_json(path, kek.read_private(path, name="The key ring"))
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


def content_of(
    path: Path, *, kek_file: Path | None = None, may_be_clear: bool = False
) -> dict[str, Any]:
    """Return what the file holds, its keys in clear.

    :param may_be_clear: whether it may be from before keys were wrapped.
    :raises KeyRingError: it cannot be used, or its key-encryption key is missing.
    """
    stored = stored_in(path)
    if stored["version"] == FILE_VERSION:
        return unwrapped(path, stored, _kek_of(path, stored, kek_file))
    if may_be_clear:
        return stored
    raise KeyRingError(
        f"The key ring at {path} is from before this version: its keys are in clear. Run "
        "`manage.py keyring wrap`, keep a new copy of it, and destroy the copies of before."
    )


def _wrapped_by(wrapping: kek.Wrapping, content: dict[str, Any]) -> dict[str, Any]:
    about = dict(content.get("about", {}))
    about["kek"] = dates.made(is_active=True)
    changed = {**content, "provider": wrapping.provider, "about": about}
    changed["components"], changed["sealed"] = list(wrapping.checks), wrapping.sealed
    return changed


def _kek_of(path: Path, stored: dict[str, Any], kek_file: Path | None) -> kek.Kek:
    try:
        ours = str(stored["installation"]), str(stored["kek"])
    except KeyError as error:
        raise malformed(path, error) from None
    if stored.get("provider") == "pkcs11":
        return token.find(stored)
    return kek.find(kek_file or settings.KEK_FILE, *ours)


@contextmanager
def replacing(
    path: Path, *, is_incomplete: bool = False, step: Step | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the file's content, then replace the file atomically by the changed content.

    :param is_incomplete: purposes that are younger than the file may be missing.
    :param step: noted in the file.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    with _replaced(path) as file:
        stored = stored_in(path)
        content = content_of(path)
        parsed(path, content, is_incomplete=is_incomplete)
        yield content
        steps.note(content, step)
        _hand_over(file, path)
        _write(file, wrapped(content, _kek_of(path, stored, None)))


@contextmanager
def _replaced(path: Path) -> Iterator[IO[str]]:
    """Yield a draft that then takes the file's place, while others are kept from changing the file.

    A draft that a killed process has left is written over.
    """
    path = path.resolve()  # The file itself: a link to it stays a link.
    draft = path.with_name(f"{path.name}.new")
    with _alone(path):
        try:
            with _new_private_file(draft) as file:
                yield file
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise KeyRingError(
                f"Cannot write {path} ({error.strerror or error}): nothing was changed."
            ) from error
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        kek.keep_directory(path.parent)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock the file's directory: the lock ends with its process, whatever ends that."""
    try:
        descriptor = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise KeyRingError("Another process is changing the key ring: wait for its end.") from None
    except OSError as error:
        os.close(descriptor)
        raise KeyRingError(
            f"Cannot lock {path.parent} ({error.strerror or error}): nothing was changed."
        ) from error
    try:
        yield
    finally:
        os.close(descriptor)


def _new_private_file(path: Path) -> IO[str]:
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    except OSError as error:
        raise _unwritable(path, error) from error
    return os.fdopen(descriptor, "w", encoding="ascii")


def _unwritable(path: Path, error: OSError) -> KeyRingError:
    return KeyRingError(
        f"Cannot write a key ring to {path} ({error.strerror}): "
        "make its directory, owned by the service's user."
    )


def _require_free(path: Path) -> None:
    if path.exists():
        raise KeyRingError(
            f"There is a file at {path} already, and a lost key ring cannot be replaced: "
            "move it away yourself if you are sure."
        )


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
