"""Key-encryption keys: each wraps the keys of one ring's file, and lies apart from it in KEK_FILE.

KEK_FILE has a line for each: installation, id, key. The ring's file names the id that it needs, so
a new key is added before the ring is wrapped again, and a copy of an older ring still opens.
"""

import base64
import binascii
import fcntl
import hmac
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core import ids

KEK_BYTES = 32
NONCE_BYTES = 12
PARTS_OF_A_LINE = 3


class KeyRingError(Exception):
    """The key ring's file cannot be used; the text says how to fix it."""


class NotUnwrapped(Exception):
    """A key was wrapped by another key-encryption key, for another place, or it was changed."""


@dataclass(frozen=True, slots=True)
class Kek:
    """A key-encryption key, bound to the id of its installation."""

    installation: str
    key: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The key's name in the ring's file; nothing of the key follows from it."""
        return self._derived("id").hex()[:16]

    def wrap(self, text: str, *, place: str) -> str:
        """Encrypt a key in base64 for one place of the ring's file."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, base64.b64decode(text), self._bound_to(place))
        return base64.b64encode(nonce + sealed).decode("ascii")

    def unwrap(self, text: str, *, place: str) -> str:
        """Decrypt what `wrap` returned.

        :raises NotUnwrapped: it was changed, or is of another key, place or installation.
        """
        try:
            sealed = base64.b64decode(text, validate=True)
            nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
            key = self._cipher.decrypt(nonce, rest, self._bound_to(place))
        except (InvalidTag, ValueError, TypeError):
            raise NotUnwrapped from None
        return base64.b64encode(key).decode("ascii")

    def code(self, content: bytes) -> str:
        """Return the code that authenticates the file as a whole."""
        return hmac.digest(self._derived("whole"), content, "sha256").hex()

    @property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._derived("wrap"))

    def _bound_to(self, place: str) -> bytes:
        return f"keyring|2|{self.installation}|{place}".encode()

    def _derived(self, use: str) -> bytes:
        return derived(self.key, f"kek|{use}|{self.installation}")


class Wrapping(NamedTuple):
    """A new key-encryption key, and what the ring's file says of it.

    :param provider: what keeps it: `file`, `components` or `pkcs11`.
    :param checks: the check value of each component.
    :param sealed: the key, as a token has sealed it.
    """

    kek: Kek
    provider: str
    checks: tuple[str, ...] = ()
    sealed: str | None = None


def derived(key: bytes, info: str) -> bytes:
    """Return HKDF-SHA-256 of the key for one use."""
    return HKDF(SHA256(), KEK_BYTES, salt=None, info=info.encode()).derive(key)


def new_installation() -> str:
    """Return a new installation's id, which all its keys are bound to."""
    return ids.new("ins")


def in_file(installation: str, kek_file: Path, *, owner: os.stat_result | None = None) -> Wrapping:
    """Make a key-encryption key at random, and keep it in its file.

    :param owner: of the ring's file, who has to read this one, too.
    :raises KeyRingError: the file cannot be read or written.
    """
    kek = Kek(installation, os.urandom(KEK_BYTES))
    keep(kek_file, kek, owner=owner)
    return Wrapping(kek, "file")


# The key-encryption key of a file that is no longer KEK_FILE, in this process alone.
_lent: ContextVar[Kek | None] = ContextVar("lent", default=None)


@contextmanager
def lent(kek: Kek) -> Iterator[None]:
    """Let `find` know a key-encryption key that lies elsewhere; it is written to no file."""
    before = _lent.set(kek)
    try:
        yield
    finally:
        _lent.reset(before)


def find(kek_file: Path, installation: str, kek_id: str) -> Kek:
    """Return the key-encryption key of a ring.

    :raises KeyRingError: it is not in the file, or the file cannot be used.
    """
    other = _lent.get()
    if other and (other.installation, other.id) == (installation, kek_id):
        return other
    try:
        known = _known(kek_file)
    except FileNotFoundError:
        raise KeyRingError(
            f"There is no file with the key-encryption key at {kek_file}: set KEK_FILE to where it "
            "is, let the custodians run `manage.py keyring open`, or finish `manage.py "
            "keyring wrap`."
        ) from None
    for kek in known:
        if (kek.installation, kek.id) == (installation, kek_id):
            return kek
    if known and installation not in {kek.installation for kek in known}:
        raise KeyRingError(
            f"The key ring is of the installation {installation}, and {kek_file} has no key of it: "
            "one of the two files is another installation's."
        )
    raise KeyRingError(
        f"{kek_file} lacks the key-encryption key {kek_id}, which the key ring is wrapped with: "
        "put its line back, let the custodians run `manage.py keyring open`, or finish `manage.py "
        "keyring wrap`."
    )


def is_kept(kek_file: Path, installation: str, kek_id: str) -> bool:
    """Return whether the file has the key-encryption key of a ring.

    :raises KeyRingError: the file cannot be used.
    """
    try:
        return any((kek.installation, kek.id) == (installation, kek_id) for kek in _known(kek_file))
    except FileNotFoundError:
        return False


def keep(kek_file: Path, kek: Kek, *, owner: os.stat_result | None = None) -> None:
    """Add a key-encryption key to the file, which is replaced as a whole.

    :param owner: of the ring's file, who has to read this one, too.
    :raises KeyRingError: the file cannot be read or written.
    """
    kek_file = kek_file.resolve()  # The file itself: a link to it stays a link.
    with _locked(kek_file.parent):
        known = _known(kek_file) if kek_file.exists() else []
        lines = [_line(one) for one in [*known, kek]]
        write_private(kek_file, "".join(lines), owner=owner)


def write_private(path: Path, text: str, *, owner: os.stat_result | None = None) -> None:
    """Replace a file that its owner alone may read.

    :raises KeyRingError: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            if owner is not None:
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
        keep_directory(path.parent)
    except OSError as error:
        raise KeyRingError(
            f"Cannot write {path} ({error.strerror}): make its directory, and run this as the "
            "service's user or as root."
        ) from error


def read_private(path: Path, *, name: str) -> bytes:
    """Read a file that its owner alone may read.

    :raises KeyRingError: others may use it.
    """
    with path.open("rb") as file:
        if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise KeyRingError(
                f"{name} at {path} can be used by others than its owner: run `chmod 0400 {path}`."
            )
        return file.read()


def keep_directory(directory: Path) -> None:
    """Write a directory to the disk: a new name in it is there only once it is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise KeyRingError(
            f"Make the directory {directory}, owned by the service's user."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _known(kek_file: Path) -> list[Kek]:
    try:
        text = read_private(kek_file, name="The key-encryption key").decode("ascii")
        return [_of_line(line) for line in text.splitlines() if line]
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KeyRingError(
            f"Cannot read the key-encryption key at {kek_file} ({error.strerror}): let the "
            "service's user own it, with mode 0400."
        ) from error
    except ValueError:
        # Without the error itself: its text may quote the file.
        raise KeyRingError(
            f"A line of {kek_file} is no key-encryption key: restore it from your backup, or move "
            "it away and let the custodians run `manage.py keyring open`."
        ) from None


def _line(kek: Kek) -> str:
    return f"{kek.installation} {kek.id} {base64.b64encode(kek.key).decode('ascii')}\n"


def _of_line(line: str) -> Kek:
    parts = line.split()
    if len(parts) != PARTS_OF_A_LINE:
        raise ValueError
    installation, kek_id, text = parts
    try:
        kek = Kek(installation, base64.b64decode(text, validate=True))
    except binascii.Error:
        raise ValueError from None
    if len(kek.key) != KEK_BYTES or kek.id != kek_id:
        raise ValueError
    return kek
