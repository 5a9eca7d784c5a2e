"""Websites and callback URLs: which addresses a merchant may send people and events to."""

from functools import cache
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import Model
from publicsuffixlist import PublicSuffixList

from core import clock, urls
from core.errors import DomainError, Explained
from core.querysets import MerchantRows
from core.urls import BadUrl, Url
from merchants import audit_log
from merchants.audit_log import LoggedChange
from merchants.models import CallbackUrl, Merchant, Website
from merchants.refusals import ChangeRefused

CALLER = "sites"  # Its name in `config.caller`.
# Addresses that payers may be sent to: hosts of websites, and callback URLs.
OF_CALLER = """
    SELECT json_build_array(
        (SELECT json_agg(site.host) FROM merchants_website site
         WHERE site.merchant_id = merchants_merchant.id),
        (SELECT json_agg(callback.url) FROM merchants_callbackurl callback
         WHERE callback.merchant_id = merchants_merchant.id)
    )::text
"""
# Of websites, and of callback URLs (contract: Merchant changes).
SITES_MAX = 50
# The rules for return URLs. Refusals, the panel and the documents say the same.
NO_ADDRESS = (
    "The address must be a plain absolute http or https address: an ASCII host name, no user info,"
    " white space, backslash or dot segment."
)
NOT_HTTPS = "An http address must be under a registered callback URL, with its scheme and port."
NOT_REGISTERED = "The address is not on a registered website and under no registered callback URL."


class ReturnUrlNotAllowed(DomainError):
    explained = Explained(
        cause=(
            "The `return_url` is not on one of your registered websites, not under a registered "
            "callback URL, or it is no plain https address."
        ),
        remedy=(
            "Register the website or the callback URL in the panel (Settings, Websites and "
            "callbacks), or send an address below a registered one."
        ),
    )
    code = "return_url_not_allowed"
    message = (
        "The return_url is not on a registered website and matches no registered callback URL."
    )
    param = "return_url"


class SiteRefused(ChangeRefused):
    """The address cannot be registered or removed; the text says why."""


class SiteVerdict(NamedTuple):
    """Whether payers may be sent to an address.

    :param rule: the sentence about the rule that the address breaks; None if it breaks none.
    :param covered_by: the registration that allows the address, if any does.
    """

    rule: str | None
    covered_by: Website | CallbackUrl | None


# --- Registering ------------------------------------------------------------------------------


def register_website(merchant: Merchant, address: str, *, reason: str | None = None) -> Website:
    """Trust a host and what is below it; `https://` and a path may be left out.

    Of an account that opens. A website of an open one is a change of the merchant's:
    `accounts.change` calls `add_website`.

    :raises SiteRefused: no https address, no public name, a public suffix, or one too many.
    """
    with transaction.atomic():
        site, is_new = add_website(merchant, address)
        if is_new:
            after = {"websites": [str(site)]}
            audit_log.record_all(
                merchant, [LoggedChange("website.added", site.host, after=after)], reason
            )
    return site


def register_callback(
    merchant: Merchant, address: str, *, reason: str | None = None
) -> CallbackUrl:
    """Trust an address and what lies below its path, as `register_website` does a host.

    :raises SiteRefused: not an http or https address, one with a query or fragment, http in a live
        installation, or one too many.
    """
    with transaction.atomic():
        site, is_new = add_callback(merchant, address)
        if is_new:
            after = {"callbacks": [str(site)]}
            audit_log.record_all(
                merchant, [LoggedChange("callback.added", site.url, after=after)], reason
            )
    return site


# --- The rows; the caller owns the transaction and writes the audit row -----------------------


def add_website(merchant: Merchant, address: str) -> tuple[Website, bool]:
    """Return the row of a website, and whether it is new.

    :raises SiteRefused: as `register_website`.
    """
    host = website_host(address)
    if _suffixes().privatesuffix(host) is None:
        raise SiteRefused("This name is a public suffix: anybody may have a site below it.")
    _lock(merchant)
    if known := Website.objects.for_merchant(merchant).filter(host=host).first():
        return known, False
    _require_room(merchant.websites, "websites")
    now = clock.now()
    return Website.objects.create(merchant=merchant, host=host, created_at=now), True


def add_callback(merchant: Merchant, address: str) -> tuple[CallbackUrl, bool]:
    """Return the row of a callback URL, and whether it is new.

    :raises SiteRefused: as `register_callback`.
    """
    _require_callback(address)
    _lock(merchant)
    if known := CallbackUrl.objects.for_merchant(merchant).filter(url=address).first():
        return known, False
    _require_room(merchant.callback_urls, "callback URLs")
    now = clock.now()
    return CallbackUrl.objects.create(merchant=merchant, url=address, created_at=now), True


def remove_website(merchant: Merchant, address: str) -> Website:
    """Trust a host no longer, and return its row; what is open goes on (contract 9).

    :raises SiteRefused: it is not registered.
    """
    rows = Website.objects.for_merchant(merchant).filter(host=website_host(address))
    return _taken(rows, "This website is not registered.")


def remove_callback(merchant: Merchant, address: str) -> CallbackUrl:
    """Trust a callback URL no longer, and return its row; it is written as it was registered.

    :raises SiteRefused: it is not registered.
    """
    rows = CallbackUrl.objects.for_merchant(merchant).filter(url=address)
    return _taken(rows, "This callback URL is not registered.")


def website_host(address: str) -> str:
    """Return the host of a website's address.

    :raises SiteRefused: no https address, or no public name.
    """
    try:
        url = urls.parse(address if "://" in address else f"https://{address}")
    except BadUrl:
        raise SiteRefused("This is not a website's address.") from None
    if url.scheme != "https" or not urls.is_public_name(url.host):
        raise SiteRefused("A website is an https address with a public name.")
    return url.host


def _require_callback(address: str) -> None:
    try:
        url = urls.parse(address)
    except BadUrl:
        raise SiteRefused("This is not an http or https address.") from None
    if "?" in address or "#" in address:
        raise SiteRefused("A callback URL has no query and no fragment.")
    if settings.LIVEMODE and url.scheme != "https":
        raise SiteRefused("A callback URL of a live installation begins with https://.")


def _lock(merchant: Merchant) -> None:
    # Additions at the same time count one after the other.
    Merchant.objects.select_for_update(no_key=True).only("id").get(id=merchant.id)


def _require_room(rows: Any, noun: str) -> None:
    if rows.count() >= SITES_MAX:
        raise SiteRefused(f"A merchant has up to {SITES_MAX} {noun}.")


def _taken(rows: MerchantRows, unknown: str) -> Any:
    site = rows.select_for_update().first()
    if site is None:
        raise SiteRefused(unknown)
    site.delete()
    return site


# --- Asking -----------------------------------------------------------------------------------


def require_return_url(merchant: Merchant, address: str) -> None:
    """Accept an address to send payers back to (contract 3).

    :raises ReturnUrlNotAllowed: on no registered website, under no registered
        callback URL, or not a plain address at all; the message says which.
    """
    if _is_known_of_caller(merchant, address):
        return
    if rule := why_not(merchant, address).rule:
        raise ReturnUrlNotAllowed(rule)


def why_not(merchant: Merchant, address: str) -> SiteVerdict:
    """Return the rule that keeps payers from being sent to an address, or what allows it."""
    try:
        url = urls.parse(address)
    except BadUrl:
        return SiteVerdict(NO_ADDRESS, None)
    if site := covering(merchant, url):
        return SiteVerdict(None, site)
    return SiteVerdict(NOT_REGISTERED if url.scheme == "https" else NOT_HTTPS, None)


def is_registered(merchant: Merchant, url: Url) -> bool:
    """Return whether an address is on a registered website, or under a registered callback URL.

    On a website means: https, its host or a host below it, any port.
    """
    return covering(merchant, url) is not None


def covering(
    merchant: Merchant, url: Url, *, without: Website | CallbackUrl | None = None
) -> Website | CallbackUrl | None:
    """Return a registration that an address is on or under; None if there is none.

    :param without: a registration that is left out, as if it were removed.
    """
    return _website_of(merchant, url, without) or _callback_of(merchant, url, without)


def _is_known_of_caller(merchant: Merchant, address: str) -> bool:
    """Return whether the rows found with the caller's key allow an address; no statement."""
    found = (merchant.caller or {}).get(CALLER)
    if not found:
        return False
    try:
        url = urls.parse(address)
    except BadUrl:
        return False
    hosts, callbacks = orjson.loads(found)
    is_on_website = any(_is_below(url, host) for host in hosts or ())
    return is_on_website or any(_covers(urls.parse(one), url) for one in callbacks or ())


def _website_of(merchant: Merchant, url: Url, without: Model | None) -> Website | None:
    others = (site for site in merchant.websites.all() if site != without)
    return next((site for site in others if _is_below(url, site.host)), None)


def _is_below(url: Url, host: str) -> bool:
    is_host = url.host == host or url.host.endswith(f".{host}")
    return is_host and url.scheme == "https"


def _callback_of(merchant: Merchant, url: Url, without: Model | None) -> CallbackUrl | None:
    callbacks = (one for one in merchant.callback_urls.all() if one != without)
    return next((one for one in callbacks if _covers(urls.parse(one.url), url)), None)


def _covers(callback: Url, url: Url) -> bool:
    base = callback.path.rstrip("/")
    return callback.origin == url.origin and (
        url.path == base or f"{url.path}/".startswith(f"{base}/")
    )


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
