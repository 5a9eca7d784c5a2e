"""A watch over the key ring while the tests run: cards are opened by vault.reveal alone.

Imports are checked elsewhere; this sees also what is reached around them.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from core.keyring import KeyRing

CARDS = "vault.card|"
# The key ring itself, for a rotation: what it opens it seals again and shows to nobody.
MAY_OPEN_CARDS = {"vault.reveal", "core.keyring.sealing"}


class CardOpened(AssertionError):
    """A module that may not opened a card's number."""


@contextmanager
def watched() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyRing, "open", _watching(KeyRing.open))
        yield


def _watching(open_blob: Callable[..., bytes]) -> Callable[..., bytes]:
    def open(ring: KeyRing, blob: bytes, *, context: str) -> bytes:
        caller = sys._getframe(1).f_globals["__name__"]
        is_test = caller.startswith("tests.")
        if context.startswith(CARDS) and not is_test and caller not in MAY_OPEN_CARDS:
            raise CardOpened(caller)
        return open_blob(ring, blob, context=context)

    return open
