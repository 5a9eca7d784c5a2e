"""Changes of the key ring's file, each by whole replacement; processes read it at their next start.

A key seals nothing when it is added, seals everything when it is promoted, and opens only when it
is retired. What the processes that run hold is the caller's to ask (`vault.peers`).
"""

from pathlib import Path
from typing import Any

from core.keyring import dates
from core.keyring.content import (
    MAC_PURPOSES,
    missing_of,
    new_key,
    new_key_id,
    parsed,
    retired_in,
)
from core.keyring.file import content_of, load, replacing
from core.keyring.kek import KeyRingError


def add(path: Path, *, key_id: str | None = None) -> str:
    """Add a new encryption key, which seals nothing yet, and return its id.

    :param key_id: by default a new one.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    with replacing(path) as content:
        key_id = key_id or new_key_id()
        content["encryption"][key_id] = new_key()
        _about(content)[key_id] = dates.made()
    return key_id


def promote(path: Path, key_id: str) -> None:
    """Make a key the primary one: every process seals with it from its next start on.

    :raises KeyRingError: there is no such key, it is primary already or retired, the file
        cannot be used, or another process is changing it.
    """
    with replacing(path) as content:
        _require_secondary(content, key_id)
        if key_id in retired_in(content):
            raise KeyRingError(f"{key_id} is retired: it seals nothing any more.")
        _stamp(content, content["primary"], "superseded")
        content["primary"] = key_id
        _stamp(content, key_id, "active")
        _about(content)[key_id]["active_since"] = _about(content)[key_id].pop("active_at")


def retire(path: Path, key_id: str) -> None:
    """Retire a key: it opens what it has sealed, and is never primary again.

    :raises KeyRingError: there is no such key, it is the primary one or retired already, the
        file cannot be used, or another process is changing it.
    """
    with replacing(path) as content:
        _require_secondary(content, key_id)
        if key_id in retired_in(content):
            raise KeyRingError(f"{key_id} is retired already.")
        content["retired"] = [*retired_in(content), key_id]
        _stamp(content, key_id, "retired")


def purge(path: Path, key_id: str) -> None:
    """Delete a retired key; the caller has made sure that nothing is sealed with it.

    :raises KeyRingError: there is no such key, it is not retired, the file cannot be used, or
        another process is changing it.
    """
    with replacing(path) as content:
        _require_retired(content, key_id)
        content["retired"] = [other for other in retired_in(content) if other != key_id]
        del content["encryption"][key_id]
        _stamp(content, key_id, "purged")


def require_retired(path: Path, key_id: str) -> None:
    """Refuse what only a retired key may be given to.

    :raises KeyRingError: there is no such key, it is not retired, or the file cannot be used.
    """
    load(path)
    _require_retired(content_of(path), key_id)


def put_back(path: Path, name: str, *, copy: Path) -> None:
    """Copy a lost key from another key ring; an encryption key then opens and never seals.

    :param name: a key's id, or the purpose of a key for hashes.
    :raises KeyRingError: the copy lacks it, the file has a key of that name, one of the two
        cannot be used, or another process is changing the file.
    """
    kind = "mac" if name in MAC_PURPOSES else "encryption"
    copied = _usable(copy)
    key = copied[kind].get(name)
    if key is None:
        raise KeyRingError(f"The key ring at {copy} holds no key {name!r}.")
    with replacing(path, is_incomplete=True) as content:
        if name in content[kind]:
            raise KeyRingError(f"The key ring at {path} has a key {name} already.")
        content[kind][name] = key
        known = _about(content).get(name) or copied.get("about", {}).get(name, {})
        _about(content)[name] = {date: at for date, at in known.items() if "purged" not in date}
        _stamp(content, name, "put_back")
        if kind == "encryption":
            content["retired"] = [*retired_in(content), name]
            _stamp(content, name, "retired")


def complete(path: Path) -> list[str]:
    """Give a file the keys of purposes that are younger than it, and return those purposes.

    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    missing = missing_purposes(path)
    if missing:
        with replacing(path, is_incomplete=True) as content:
            # Again: another process may have added them by now.
            missing = missing_of(content)
            content["mac"] |= {purpose: new_key() for purpose in missing}
            _about(content).update({purpose: dates.made(is_active=True) for purpose in missing})
    return missing


def missing_purposes(path: Path, *, kek_file: Path | None = None) -> list[str]:
    """Return the purposes that a file is too old to have keys of.

    :param kek_file: of its key-encryption key, by default KEK_FILE.
    :raises KeyRingError: the file cannot be used.
    """
    return missing_of(_usable(path, kek_file=kek_file))


def _about(content: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = content.setdefault("about", {})
    return about


def _stamp(content: dict[str, Any], name: str, step: str) -> None:
    _about(content)[name] = dates.stamped(_about(content).get(name, {}), step)


def _usable(path: Path, *, kek_file: Path | None = None) -> dict[str, Any]:
    """Return a file's content, of which purposes that are younger may be missing."""
    content = content_of(path, kek_file=kek_file, may_be_clear=True)
    parsed(path, content, is_incomplete=True)
    return content


def _require_secondary(content: dict[str, Any], key_id: str) -> None:
    if key_id not in content["encryption"]:
        raise KeyRingError(f"The key ring holds no key {key_id!r}: `manage.py keyring show`.")
    if key_id == content["primary"]:
        raise KeyRingError(f"{key_id} is the primary key.")


def _require_retired(content: dict[str, Any], key_id: str) -> None:
    _require_secondary(content, key_id)
    if key_id not in retired_in(content):
        raise KeyRingError(
            f"{key_id} is not retired: run `manage.py keyring remove {key_id}` first, bring the "
            "file to every host, and start every process anew."
        )
