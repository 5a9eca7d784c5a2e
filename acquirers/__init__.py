"""Acquirers: the doors to banks. Only this room may see a card number, and only to send it.

No model is imported here: Django loads this module before it can make one.
"""

from collections import ChainMap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from core.errors import NotSetUp
from core.once import once

if TYPE_CHECKING:
    from acquirers.gateway import Gateway, IssuerFacts
    from acquirers.hearing import HeardGateway
    from acquirers.models import Terminal
    from acquirers.set_up import Field
    from acquirers.settlement import Reader

CLOSED = "acquirers.closed.ClosedGateway"
HEARD = "acquirers.hearing.HeardGateway"


class HasTerminal(Protocol):
    """An attempt: it was opened with a terminal, for a card."""

    terminal: "Terminal"
    card: Any


def of(attempt: HasTerminal) -> "HeardGateway":
    """Return the gateway of the terminal that the attempt was opened with.

    Its answers leave out what echoes the number of the attempt's card.

    :raises NotSetUp: the installation has no adapter for its kind any more.
    """
    heard: HeardGateway = _imported(HEARD)(at(attempt.terminal), attempt.card, attempt.terminal)
    return heard


def at(terminal: "Terminal") -> "Gateway":
    """Return the gateway of a terminal, one instance per process and kind.

    :raises NotSetUp: the installation has no adapter for its kind.
    """
    own = adapter_of(terminal)
    return _gateway(CLOSED) if terminal.status == terminal.Status.DISABLED else own


def adapter_of(terminal: "Terminal") -> "Gateway":
    """Return the gateway of a terminal's kind, though the terminal is disabled.

    It is asked for facts alone: only `of` and `at` heed a terminal that is disabled.

    :raises NotSetUp: the installation has no adapter for its kind.
    """
    if terminal.kind not in settings.ACQUIRERS:
        raise NotSetUp("This installation has no acquirer of that kind.")
    return _gateway(settings.ACQUIRERS[terminal.kind])


def fields_of(kind: str) -> "tuple[Field, ...]":
    """Return the fields that a terminal of a kind has.

    :param kind: a name in `settings.ACQUIRERS`.
    """
    return _gateway(settings.ACQUIRERS[kind]).fields


def settlement_of(terminal: "Terminal") -> "Reader | None":
    """Return the reader of a terminal's settlement files; None if files of its kind are not known.

    :raises NotSetUp: the installation has no adapter for its kind.
    """
    return adapter_of(terminal).settlement_reader


def kinds() -> list[str]:
    """Return the kinds of acquirers that this installation has."""
    return sorted(settings.ACQUIRERS)


def built_in_bins() -> "Mapping[str, IssuerFacts]":
    """Return what the installation's adapters know of issuers by themselves, by prefix.

    A card is routed by its issuer's facts, so they are of no terminal.
    """
    return _merged_bins(tuple(settings.ACQUIRERS.values()))


def require_adapters() -> None:
    """Stop a process at its start if an adapter of the settings cannot be used here.

    :raises ImproperlyConfigured: an adapter refuses this installation, as one of the tests does
        a live one.
    """
    for path in settings.ACQUIRERS.values():
        _gateway(path)


@once
def _imported(dotted_path: str) -> Any:
    return import_string(dotted_path)


@once
def _gateway(dotted_path: str) -> "Gateway":
    return import_string(dotted_path)()


@once
def _merged_bins(dotted_paths: tuple[str, ...]) -> "Mapping[str, IssuerFacts]":
    return ChainMap(*(dict(_gateway(path).built_in_bins) for path in dotted_paths))
