"""The panel's pages, from its table of addresses."""

import re
from collections.abc import Callable
from typing import Any

from django.urls import URLPattern

from core import clock
from merchants.models import Merchant
from panel.merchants import urls
from panel.permissions import PAGES

# No merchant's, and nothing to do with a role.
OF_EVERYBODY = {"home", "look"}
# By the page's name, a thing of the merchant that the page shows.
THINGS: dict[str, Callable[[Merchant], Any]] = {
    "remove_website": lambda merchant: merchant.websites.order_by("id")[0].pk,
    "remove_callback": lambda merchant: _callback(merchant).pk,
}


def pages() -> list[URLPattern]:
    """Return the pages of merchants."""
    return [one for one in urls.urlpatterns if one.name not in OF_EVERYBODY]


def unlisted() -> set[str]:
    """Return the pages without a row in the table of roles."""
    return {str(one.name) for one in pages()} - {*PAGES}


def address(name: str, merchant: str, thing: Any = "unknown") -> str:
    """Return a page's address."""
    pattern = next(one for one in urls.urlpatterns if one.name == name).pattern
    written = str(pattern).replace("<str:merchant>", merchant)
    return "/panel/" + re.sub(r"<str:\w+>", str(thing), written)


def addresses(merchant: Merchant) -> dict[str, str]:
    """Return the address of every page of a merchant, each of a thing that is there.

    :raises KeyError: a page shows a thing, and `THINGS` has none for it.
    """
    return {str(one.name): _of(one, merchant) for one in pages()}


def _of(page: URLPattern, merchant: Merchant) -> str:
    name = str(page.name)
    is_of_a_thing = str(page.pattern).count("<str:") > 1
    return address(name, merchant.id, THINGS[name](merchant) if is_of_a_thing else "")


def _callback(merchant: Merchant) -> Any:
    url = "http://localhost:3000/return"
    return merchant.callback_urls.get_or_create(url=url, defaults={"created_at": clock.now()})[0]
