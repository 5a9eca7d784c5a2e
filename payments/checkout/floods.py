"""How often payers may fail on the pages: by network, and by session.

What succeeds is never counted: the network of a phone company holds thousands of payers.
"""

from ipaddress import ip_network

from django.conf import settings

from core import limits

FAILURE_SECONDS = 60
REFUSED_PRESSES, REFUSED_SECONDS = 20, 600


def require_few_failures(network: str | None, *, tries: int) -> None:
    """Refuse a press whose network has failed too often within the last minute.

    The first try of a session is never refused: one thief in a network stops no honest payer there.

    :param network: None is not counted (`networks.of_payer`).
    :param tries: attempts of the session so far.
    :raises RateLimited: `CHECKOUT_FAILURES_PER_MINUTE` were counted.
    """
    if network and tries:
        limits.look(_name(network), limit=_failures_of(network), seconds=FAILURE_SECONDS)


def count_failure(network: str | None) -> None:
    """Count a try that charged nothing."""
    if network:
        limits.note(_name(network), limit=_failures_of(network), seconds=FAILURE_SECONDS)


def count_refused_press(session_id: str) -> None:
    """Count a press that was refused at a field.

    :raises RateLimited: the session has had 20 of them within 10 minutes.
    """
    name = f"limit:refused_press:{session_id}"
    limits.count(name, limit=REFUSED_PRESSES, seconds=REFUSED_SECONDS)


def _name(network: str) -> str:
    return f"limit:failed_try:{network}"


def _failures_of(network: str) -> int:
    """Return the limit of a network: a /64 is one customer, an IPv4 address may be many."""
    limit: int = settings.CHECKOUT_FAILURES_PER_MINUTE
    return limit if ip_network(network).version == 4 else -(-limit // 4)
