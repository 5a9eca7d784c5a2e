"""The two custodians at the machine: each writes a component down, and types it at each opening."""

import getpass
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from core.keyring import KeyRingError, components, kek, token

TRIES = 3
# Clears the screen and what was scrolled out of it.
CLEAR = "\x1b[H\x1b[2J\x1b[3J"


def add_argument(parser: ArgumentParser) -> None:
    """Let the components go to files, such as on a custodian's own medium."""
    parser.add_argument(
        "--component", action="append", type=Path, dest="components", default=[], metavar="FILE",
        help="a new file for a component, one for each custodian; else the terminal shows them",
    )  # fmt: skip


def make(installation: str, files: Sequence[Path], out: Any) -> kek.Wrapping:
    """Make a key-encryption key as KEK_PROVIDER says, and keep it where processes read it.

    :raises KeyRingError: a place cannot be written, or a custodian did not type their component.
    """
    owner = _owner_of(settings.KEYRING_FILE)
    if settings.KEK_PROVIDER == "file":
        return kek.in_file(installation, settings.KEK_FILE, owner=owner)
    if settings.KEK_PROVIDER == "pkcs11":
        return token.make(installation)
    components.require_memory(settings.KEK_FILE)
    texts = [components.new_component() for _ in range(components.CUSTODIANS)]
    made = components.wrapping_of(installation, texts)
    if files:
        _write(files, texts)
    else:
        _show(texts, made.checks, out)
    kek.keep(settings.KEK_FILE, made.kek, owner=owner)
    return made


def typed(question: str) -> str:
    """Return what a custodian types unseen, or the next line of a standard input of no terminal."""
    if sys.stdin.isatty():
        return getpass.getpass(question)
    line = sys.stdin.readline()
    if not line:
        raise KeyRingError("The standard input has ended, and has no component.")
    return line


def _write(files: Sequence[Path], texts: Sequence[str]) -> None:
    if len(set(files)) != len(texts) or any(file.exists() for file in files):
        raise KeyRingError(f"Give {len(texts)} files that do not exist yet: --component FILE each.")
    for file, text in zip(files, texts, strict=True):
        kek.write_private(file, f"{text}\n")


def _show(texts: Sequence[str], checks: Sequence[str], out: Any) -> None:
    if not sys.stdin.isatty():
        raise KeyRingError(
            "The custodians read their components at a terminal; without one give "
            f"{len(texts)} files: --component FILE each."
        )
    for number, (text, check) in enumerate(zip(texts, checks, strict=True), start=1):
        typed(f"Custodian {number} alone at the screen, then Enter: ")
        out.write(f"Component {number} of {len(texts)}, check value {check}:\n\n    {text}\n\n")
        typed("Write it down on paper, then Enter: ")
        out.write(CLEAR)
        _require_written_down(number, text)
        out.write(CLEAR)


def _require_written_down(number: int, text: str) -> None:
    for _ in range(TRIES):
        if "".join(typed(f"Component {number} from the paper: ").split()) == text.replace(" ", ""):
            return
    raise KeyRingError(
        f"Component {number} was mistyped {TRIES} times: nothing was made. Destroy the papers."
    )


def _owner_of(path: Path) -> os.stat_result | None:
    return path.stat() if path.exists() else None
