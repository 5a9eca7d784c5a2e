"""Acquirers: the doors to banks. Only this room may see a card number, and only to send it.

No model is imported here: Django loads this module before it can make one.
"""

from typing import TYPE_CHECKING, Any, Protocol

from django.apps import apps as installed_apps
from django.conf import settings
from django.utils.module_loading import import_string

from core.errors import NotSetUp
from core.once import once

if TYPE_CHECKING:
    from acquirers.gateway import Gateway
    from acquirers.models import Terminal
    from core.cards import CardData
    from merchants.models import Merchant

CLOSED = "acquirers.closed.ClosedGateway"
HEARD = "acquirers.hearing.HeardGateway"


class HasTerminal(Protocol):
    """An attempt: it was opened with a terminal, for a card."""

    terminal: "Terminal"
    card: Any


def of(attempt: HasTerminal) -> "Gateway":
    """Return the gateway of the terminal that the attempt was opened with.

    Its answers leave out what echoes the number of the attempt's card.

    :raises NotSetUp: the installation has no adapter for its kind any more.
    """
    heard: Gateway = _imported(HEARD)(at(attempt.terminal), attempt.card, attempt.terminal.name)
    return heard


def at(terminal: "Terminal") -> "Gateway":
    """Return the gateway of a terminal, one instance per process and kind.

    :raises NotSetUp: the installation has no adapter for its kind.
    """
    if terminal.kind not in settings.ACQUIRERS:
        raise NotSetUp("This installation has no acquirer of that kind.")
    is_closed = terminal.status == terminal.Status.DISABLED
    return _gateway(CLOSED if is_closed else settings.ACQUIRERS[terminal.kind])


def for_new(merchant: "Merchant", currency: str, card: "CardData | None") -> "Terminal":
    """Return the terminal for a new attempt: the merchant's own, or else the installation's.

    Every terminal takes every currency and card so far; routes will choose by these.

    :param card: None for one that was sealed earlier.
    :raises NotSetUp: no terminal is open for new attempts.
    """
    terminals: Any = installed_apps.get_model("acquirers", "Terminal")
    found = terminals.objects.open_to(merchant)
    if found is None or found.kind not in settings.ACQUIRERS:
        raise NotSetUp("This installation has no acquirer yet.")
    return found


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
