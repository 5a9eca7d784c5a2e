"""Gateways to acquirers. Only this package may see a card number in clear, and only to send it."""

from functools import cache

from django.conf import settings
from django.utils.module_loading import import_string

from acquirers.gateway import Gateway
from core.errors import UpstreamUnavailable


def acquirer() -> Gateway:
    """Return the installation's gateway, one instance per process.

    :raises UpstreamUnavailable: the installation has no acquirer yet.
    """
    if not settings.ACQUIRER:
        raise UpstreamUnavailable("This installation has no acquirer yet.")
    return _gateway(settings.ACQUIRER)


@cache
def _gateway(dotted_path: str) -> Gateway:
    return import_string(dotted_path)()
