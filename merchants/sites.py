"""Websites and callback URLs: which addresses a merchant may send people and events to."""

from functools import cache

from publicsuffixlist import PublicSuffixList

from core import clock, urls
from core.errors import DomainError
from core.urls import BadUrl, Url
from merchants.models import CallbackUrl, Merchant, Website


class ReturnUrlNotAllowed(DomainError):
    code = "return_url_not_allowed"
    message = (
        "The return_url is not on a registered website and matches no registered callback URL."
    )
    param = "return_url"


class SiteRefused(ValueError):
    """The address cannot be registered; the text says why."""


def register_website(merchant: Merchant, address: str) -> Website:
    """Trust a host and what is below it; `https://` and a path may be left out.

    :raises SiteRefused: no https address, no public name, or a public suffix.
    """
    try:
        url = urls.parse(address if "://" in address else f"https://{address}")
    except BadUrl:
        raise SiteRefused("This is not a website's address.") from None
    if url.scheme != "https" or not urls.is_public_name(url.host):
        raise SiteRefused("A website is an https address with a public name.")
    if _suffixes().privatesuffix(url.host) is None:
        raise SiteRefused("This name is a public suffix: anybody may have a site below it.")
    return Website.objects.get_or_create(
        merchant=merchant, host=url.host, defaults={"created_at": clock.now()}
    )[0]


def register_callback(merchant: Merchant, address: str) -> CallbackUrl:
    """Trust an address and what lies below its path, on the same scheme, host and port.

    :raises SiteRefused: not an http or https address, or one with a query or fragment.
    """
    try:
        urls.parse(address)
    except BadUrl:
        raise SiteRefused("This is not an http or https address.") from None
    if "?" in address or "#" in address:
        raise SiteRefused("A callback URL has no query and no fragment.")
    return CallbackUrl.objects.get_or_create(
        merchant=merchant, url=address, defaults={"created_at": clock.now()}
    )[0]


def require_return_url(merchant: Merchant, address: str) -> None:
    """Accept an address to send payers back to (contract 3).

    :raises ReturnUrlNotAllowed: on no registered website, under no registered
        callback URL, or not a plain address at all.
    """
    try:
        url = urls.parse(address)
    except BadUrl:
        raise ReturnUrlNotAllowed from None
    if not is_registered(merchant, url):
        raise ReturnUrlNotAllowed


def is_registered(merchant: Merchant, url: Url) -> bool:
    """Tell whether an address is on a registered website, or under a registered callback URL.

    On a website means: https, its host or a host below it, any port.
    """
    return _is_on_website(merchant, url) or _is_under_callback(merchant, url)


def _is_on_website(merchant: Merchant, url: Url) -> bool:
    if url.scheme != "https":
        return False
    labels = url.host.split(".")
    at_or_above = [".".join(labels[start:]) for start in range(len(labels))]
    return Website.objects.filter(merchant=merchant, host__in=at_or_above).exists()


def _is_under_callback(merchant: Merchant, url: Url) -> bool:
    return any(_covers(urls.parse(callback.url), url) for callback in merchant.callback_urls.all())


def _covers(callback: Url, url: Url) -> bool:
    base = callback.path.rstrip("/")
    return callback.origin == url.origin and (
        url.path == base or f"{url.path}/".startswith(f"{base}/")
    )


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
