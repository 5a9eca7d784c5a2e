"""The provider `components`: custodians, none of whom alone knows anything of the key.

Each component is 32 random bytes. The key-encryption key is HKDF-SHA-256 of their XOR, bound to
the installation's id. A check value of each lies in the ring's file, by which a mistyped one is
recognized.
"""

import hmac
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core.keyring.kek import (
    KEK_BYTES,
    Kek,
    KeyRingError,
    Wrapping,
    derived,
    is_kept,
    keep,
    read_private,
    write_private,
)

CUSTODIANS = 2
GROUP_CHARACTERS = 8
MEMORY = ("tmpfs", "ramfs")
MOUNTS = Path("/proc/self/mountinfo")


class WrongComponent(KeyRingError):
    """Refuse a component that is none of this key ring; it may be typed again."""


class Opening(NamedTuple):
    """The state of a key ring after a custodian's component.

    :param number: of the component, from 1.
    :param missing: the numbers of those that have still to be entered; none: the ring is open.
    """

    number: int
    missing: list[int]


def new_component() -> str:
    """Return a new component as it is written down: eight groups of hexadecimal digits."""
    text = os.urandom(KEK_BYTES).hex()
    groups = range(0, len(text), GROUP_CHARACTERS)
    return " ".join(text[start : start + GROUP_CHARACTERS] for start in groups)


def wrapping_of(installation: str, components: Sequence[str]) -> Wrapping:
    """Make the key-encryption key of new components.

    :raises WrongComponent: one is not 64 hexadecimal digits.
    """
    parts = [_bytes_of(component) for component in components]
    checks = tuple(check_of(installation, n, part) for n, part in enumerate(parts, start=1))
    return Wrapping(_kek_of(installation, parts), "components", checks)


def check_of(installation: str, number: int, component: bytes) -> str:
    """Return the check value of a component, from which nothing of it follows."""
    return derived(component, f"component|{number}|{installation}").hex()[:12]


def enter(stored: Any, component: str, *, kek_file: Path, owner: os.stat_result) -> Opening:
    """Take one component of a ring; with the last one the key-encryption key is opened.

    The components that came before lie in the directory of KEK_FILE, in memory as well, until then.

    :param stored: the ring's file as it lies on the disk.
    :raises WrongComponent: it is none of this ring's.
    :raises KeyRingError: the ring has no components, is open, or the place is not in memory.
    """
    installation, checks, places = _waiting(stored, kek_file)
    number, part = _recognized(installation, checks, component)
    missing = [n for n, place in places.items() if not place.exists()]
    # None is missing if a command was killed before it had opened the ring.
    if missing and number not in missing:
        raise KeyRingError(f"Component {number} has been entered already: enter {_named(missing)}.")
    write_private(places[number], part.hex(), owner=owner)
    missing = [n for n, place in places.items() if not place.exists()]
    if not missing:
        parts = [
            _bytes_of(read_private(place, name="A component").decode("ascii"))
            for place in places.values()
        ]
        keep(kek_file, _kek_of(installation, parts), owner=owner)
        for place in places.values():
            place.unlink()
    return Opening(number, missing)


def require_memory(path: Path) -> None:
    """Refuse a place that a disk would keep.

    :raises KeyRingError: its directory is missing, or not on a tmpfs.
    """
    directory = path.resolve().parent  # Of the file itself, which a link may lead to.
    if not directory.is_dir():
        raise KeyRingError(
            f"Make the directory {directory} on a tmpfs, with mode 0700, owned by the service's "
            "user: the opened key lies there."
        )
    kind = _file_system_of(directory)
    if kind not in MEMORY:
        raise KeyRingError(
            f"{directory} is on {kind}, which may keep the opened key: set KEK_FILE to a place on "
            "a tmpfs, such as /run/pay/kek."
        )


def _waiting(stored: Any, kek_file: Path) -> tuple[str, Sequence[str], dict[int, Path]]:
    checks = stored.get("components")
    if stored.get("provider") != "components" or not checks:
        raise KeyRingError("This key ring has no components: `manage.py keyring wrap` makes them.")
    places = {n: _place(kek_file, stored["kek"], n) for n in range(1, len(checks) + 1)}
    if is_kept(kek_file, stored["installation"], stored["kek"]):
        for place in places.values():
            place.unlink(missing_ok=True)  # A command that was killed has left them.
        raise KeyRingError(f"The key ring is open already: {kek_file} has its key.")
    require_memory(kek_file)
    return stored["installation"], checks, places


def _recognized(installation: str, checks: Sequence[str], component: str) -> tuple[int, bytes]:
    part = _bytes_of(component)
    for number, check in enumerate(checks, start=1):
        if hmac.compare_digest(check_of(installation, number, part), check):
            return number, part
    raise WrongComponent(
        f"That is no component of the key ring of {installation}: it is mistyped, or of another "
        "installation or an earlier key."
    )


def _bytes_of(component: str) -> bytes:
    digits = re.sub(r"[\s-]", "", component)
    if not re.fullmatch(rf"[0-9A-Fa-f]{{{2 * KEK_BYTES}}}", digits):
        raise WrongComponent(f"A component is {2 * KEK_BYTES} hexadecimal digits.")
    return bytes.fromhex(digits)


def _kek_of(installation: str, parts: Sequence[bytes]) -> Kek:
    mixed = 0
    for part in parts:
        mixed ^= int.from_bytes(part)
    return Kek(installation, derived(mixed.to_bytes(KEK_BYTES), f"components|{installation}"))


def _place(kek_file: Path, kek_id: str, number: int) -> Path:
    kek_file = kek_file.resolve()
    return kek_file.with_name(f"{kek_file.name}.{kek_id}.{number}")


def _named(numbers: Sequence[int]) -> str:
    return " and ".join(f"component {number}" for number in numbers)


def _file_system_of(directory: Path) -> str:
    """Return the kind of the file system that a directory is on."""
    found = ("", "an unknown file system")
    for line in MOUNTS.read_text().splitlines():
        before, _dash, after = line.partition(" - ")
        point = before.split()[4].encode().decode("unicode_escape")
        # The last of several mounts at one place is the one that is seen.
        if directory.is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, after.split()[0])
    return found[1]
