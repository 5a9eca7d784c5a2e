"""The codes of all refusals, and the sentence that explains each."""

from collections.abc import Iterator

from core.errors import DomainError
from core.rest.forms import OWN_CODES


def catalogue() -> list[tuple[str, int, str]]:
    """Return (code, HTTP status, meaning) of every refusal the service can give."""
    found = {(code, 400): message for code, message in OWN_CODES.items()}
    for kind in _kinds(DomainError):
        # The general ones come first; those of rooms explain one case of theirs.
        found.setdefault((kind.code, kind.http_status), kind.message)
    return [(code, status, text) for (code, status), text in sorted(found.items())]


def meaning(code: str) -> str:
    """Return the sentence that explains a code; nothing for an unknown one."""
    return next((text for one, _status, text in catalogue() if one == code), "")


def _kinds(parent: type[DomainError]) -> Iterator[type[DomainError]]:
    for kind in parent.__subclasses__():
        if "code" in vars(kind):
            yield kind
        yield from _kinds(kind)
