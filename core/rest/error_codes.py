"""The codes of all refusals, and what explains each."""

from collections.abc import Iterator
from typing import NamedTuple

from core.errors import DomainError, Explained
from core.rest.forms import OWN_CODES, OWN_EXPLAINED


class Entry(NamedTuple):
    """A code in the list of all refusals.

    :param message: what an answer says where nothing more special is known.
    :param param: the parameter that it is always about, if there is one.
    :param explained: None for a code that is not explained yet.
    """

    code: str
    http_status: int
    message: str
    param: str | None
    explained: Explained | None


def entries() -> list[Entry]:
    """Return every refusal that the service can give, by code."""
    found = {
        (code, 400): Entry(code, 400, message, None, OWN_EXPLAINED.get(code))
        for code, message in OWN_CODES.items()
    }
    for kind in _kinds(DomainError):
        # The general ones come first; those of rooms explain one case of theirs.
        entry = Entry(kind.code, kind.http_status, kind.message, kind.param, kind.explained)
        found.setdefault((kind.code, kind.http_status), entry)
    return [found[key] for key in sorted(found)]


def catalogue() -> list[tuple[str, int, str]]:
    """Return (code, HTTP status, meaning) of every refusal the service can give."""
    return [(entry.code, entry.http_status, entry.message) for entry in entries()]


def meaning(code: str) -> str:
    """Return the sentence that explains a code; nothing for an unknown one."""
    return next((entry.message for entry in entries() if entry.code == code), "")


def _kinds(parent: type[DomainError]) -> Iterator[type[DomainError]]:
    for kind in parent.__subclasses__():
        if "code" in vars(kind):
            yield kind
        yield from _kinds(kind)
