"""Destinations: the rules for an endpoint's address, applied when it is set (contract 9).

No name is looked up here: the sender checks a name's addresses each time that it opens a socket.
"""

from django.conf import settings
from yarl import URL

from core import urls
from core.errors import DomainError, Explained
from core.urls import BadUrl, Url
from merchants import sites
from merchants.models import CallbackUrl, Merchant, Website
from webhooks.models import Endpoint

HTTPS_PORT = 443


class WebhookUrlNotAllowed(DomainError):
    """The address breaks a rule; the message names the rule, and repeats nothing of the address."""

    explained = Explained(
        cause=(
            "The `url` is no public https address, or it is not on a registered website and not "
            "under a registered callback URL."
        ),
        remedy=(
            "Register the website or the callback URL in the panel (Settings, Websites and "
            "callbacks). In a sandbox the operator can allow your own machine with "
            "`WEBHOOK_DEV_HOSTS`."
        ),
    )
    code = "webhook_url_not_allowed"
    message = (
        "The url is not a public https address on a registered website or under a registered "
        "callback URL."
    )
    param = "url"


def require(merchant: Merchant, address: str) -> None:
    """Check an address that a merchant wants events sent to.

    A host in `WEBHOOK_DEV_HOSTS` is exempt from all rules except the syntax of addresses.

    :raises WebhookUrlNotAllowed: any of the rules is broken.
    """
    url = _parsed(address)
    if f"{url.host}:{url.port}" in settings.WEBHOOK_DEV_HOSTS:
        return
    if url.scheme != "https":
        raise WebhookUrlNotAllowed("The url must begin with https://.")
    if not urls.is_public_name(url.host) or not _is_name_to_all(address):
        raise WebhookUrlNotAllowed(
            "The url must have a public host name, with a dot: no IP address, no broken punycode."
        )
    _require_port(url)
    if not sites.is_registered(merchant, url):
        raise WebhookUrlNotAllowed(
            "The url is neither on a registered website nor under a registered callback URL."
        )


def _parsed(address: str) -> Url:
    try:
        return urls.parse(address)
    except BadUrl:
        raise WebhookUrlNotAllowed(
            f"The url must be a plain absolute address of up to {urls.MAX_LENGTH} characters: an "
            "ASCII host name, no user info, white space, backslash or dot segment."
        ) from None


def _is_name_to_all(address: str) -> bool:
    """Return whether the sender can read the host: some `xn--` names cannot be decoded."""
    try:
        return URL(address).host is not None
    except ValueError:
        return False


def _require_port(url: Url) -> None:
    ports = sorted({HTTPS_PORT, *settings.WEBHOOK_PORTS})
    if url.port not in ports:
        allowed = ", ".join(map(str, ports))
        raise WebhookUrlNotAllowed(f"The url's port must be one of: {allowed}.")


def left_uncovered(merchant: Merchant, removed: Website | CallbackUrl) -> list[Endpoint]:
    """Return the endpoints that nothing but this registration covers, before it is removed.

    They go on: the rule is checked when an address is set (contract 9).
    """
    rows = Endpoint.objects.for_merchant(merchant).filter(deleted_at=None).order_by("id")
    # Its registrations are read once, not for each endpoint; by a row that nobody else holds.
    merchant = Merchant.objects.prefetch_related("websites", "callback_urls").get(pk=merchant.pk)
    return [row for row in rows if _is_covered_by_it_alone(merchant, row.url, removed)]


def _is_covered_by_it_alone(
    merchant: Merchant, address: str, removed: Website | CallbackUrl
) -> bool:
    url = urls.parse(address)
    is_covered = sites.is_registered(merchant, url)
    return is_covered and sites.covering(merchant, url, without=removed) is None
