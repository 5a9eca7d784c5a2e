"""Changes of the key ring's file, each by whole replacement; processes read it at their next start.

A key seals nothing when it is added, seals everything when it is promoted, and opens only when it
is retired. What the processes that run hold is the caller's to ask (`vault.peers`).
"""

from pathlib import Path
from typing import Any

from core.keyring import dates, steps
from core.keyring.content import missing_of, new_key, parsed, retired_in
from core.keyring.file import content_of, load, replacing, require_not_of_a_sandbox
from core.keyring.kek import KeyRingError
from core.keyring.purposes import (
    CVC,
    keys_of_purposes,
    new_key_id,
    primary_of,
    purpose_of,
)
from core.keyring.steps import Step


def add(path: Path, *, key_id: str | None = None, step: Step | None = None) -> str:
    """Add a new key, which seals and hashes nothing yet, and return its id.

    :param key_id: by default a new encryption key's; a purpose's key begins with its purpose.
    :param step: noted in the file, as by each of the changes below.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    key_id = key_id or new_key_id()
    with replacing(path, step=step) as content:
        content[_kind_of(key_id)][key_id] = new_key()
        _about(content)[key_id] = dates.made()
    return key_id


def promote(path: Path, key_id: str, *, step: Step | None = None) -> None:
    """Make a key the primary one: every process seals and hashes with it from its next start on.

    :raises KeyRingError: there is no such key, it is primary already or retired, the file
        cannot be used, or another process is changing it.
    """
    with replacing(path, step=step) as content:
        _require_secondary(content, key_id)
        if key_id in retired_in(content):
            raise KeyRingError(f"{key_id} is retired: it seals nothing any more.")
        _stamp(content, _primary_like(content, key_id), "superseded")
        if purpose := purpose_of(key_id):
            content["primaries"] = {**content.get("primaries", {}), purpose: key_id}
        else:
            content["primary"] = key_id
        _stamp(content, key_id, "active")
        _about(content)[key_id]["active_since"] = _about(content)[key_id].pop("active_at")


def retire(path: Path, key_id: str, *, step: Step | None = None) -> None:
    """Retire a key: it opens what it has sealed, and is never primary again.

    :raises KeyRingError: there is no such key, it is the primary one or retired already, the
        file cannot be used, or another process is changing it.
    """
    with replacing(path, step=step) as content:
        _require_secondary(content, key_id)
        if key_id in retired_in(content):
            raise KeyRingError(f"{key_id} is retired already.")
        content["retired"] = [*retired_in(content), key_id]
        _stamp(content, key_id, "retired")


def purge(path: Path, key_id: str, *, step: Step | None = None) -> None:
    """Delete a retired key; the caller has made sure that nothing is sealed with it.

    :raises KeyRingError: there is no such key, it is not retired, the file cannot be used, or
        another process is changing it.
    """
    with replacing(path, step=step) as content:
        _require_retired(content, key_id)
        content["retired"] = [other for other in retired_in(content) if other != key_id]
        if key_id == CVC:
            del content[CVC]
        else:
            del content[_kind_of(key_id)][key_id]
        _stamp(content, key_id, "purged")


def require_retired(path: Path, key_id: str) -> None:
    """Refuse what only a retired key may be given to.

    :raises KeyRingError: there is no such key, it is not retired, or the file cannot be used.
    """
    load(path)
    _require_retired(content_of(path), key_id)


def put_back(path: Path, name: str, *, copy: Path, step: Step | None = None) -> None:
    """Copy a lost key from another key ring, as a retired one if there is a primary one.

    :param name: a key's id.
    :raises KeyRingError: the copy lacks it or is of a sandbox while this installation is live, the
        file has a key of that name, one of the two cannot be used, or another process is changing
        the file.
    """
    require_not_of_a_sandbox(copy, _usable(copy))
    key = _keys(_usable(copy)).get(name)
    if key is None:
        raise KeyRingError(f"The key ring at {copy} holds no key {name!r}.")
    copied = _usable(copy).get("about", {}).get(name, {})
    with replacing(path, is_incomplete=True, step=step) as content:
        if name in _keys(content):
            raise KeyRingError(f"The key ring at {path} has a key {name} already.")
        if name == CVC:
            content[CVC] = key
        else:
            content[_kind_of(name)][name] = key
        known = _about(content).get(name) or copied
        _about(content)[name] = {date: at for date, at in known.items() if "purged" not in date}
        _stamp(content, name, "put_back")
        if name != _primary_like(content, name):
            content["retired"] = [*retired_in(content), name]
            # One that was retired before has made nothing since: a later date would trust it again.
            if "retired_at" not in _about(content)[name]:
                _stamp(content, name, "retired")


def complete(path: Path, *, action: str | None = None) -> list[str]:
    """Give a file the keys of purposes that are younger than it, and return those purposes.

    :param action: of the step that is noted in the file for each of them.
    :raises KeyRingError: the file cannot be used, or another process is changing it.
    """
    missing = missing_purposes(path)
    if missing:
        with replacing(path, is_incomplete=True) as content:
            # Again: another process may have added them by now.
            missing = missing_of(content)
            names = [primary_of(content, purpose) for purpose in missing]
            content["mac"] |= {name: new_key() for name in names}
            _about(content).update({name: dates.made(is_active=True) for name in names})
            steps.note(content, *(steps.new(action, name) for name in names if action))
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
    if key_id not in _keys(content):
        raise KeyRingError(f"The key ring holds no key {key_id!r}: `manage.py keyring show`.")
    if key_id == _primary_like(content, key_id):
        raise KeyRingError(f"{key_id} is the primary key.")


def _require_retired(content: dict[str, Any], key_id: str) -> None:
    _require_secondary(content, key_id)
    if key_id not in retired_in(content):
        raise KeyRingError(
            f"{key_id} is not retired: run `manage.py keyring remove {key_id}` first, bring the "
            "file to every host, and start every process anew."
        )


def _keys(content: dict[str, Any]) -> dict[str, str]:
    return {**content["encryption"], **keys_of_purposes(content)}


def _kind_of(name: str) -> str:
    return "mac" if purpose_of(name) else "encryption"


def _primary_like(content: dict[str, Any], name: str) -> str:
    """Return the primary key of a key's purpose, or the primary encryption key."""
    purpose = purpose_of(name)
    return primary_of(content, purpose) if purpose else str(content["primary"])
