"""Exceptions of single pages from the policy that all pages have.

See docs/contribute/web-pages.md.
"""

import hashlib
from base64 import b64encode
from pathlib import Path

from csp.constants import HEADER
from csp.utils import build_policy
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import HttpResponse

from core import urls
from core.once import once

# A browser keeps only pages with status 200 as they were, card and all, for its Back button.
STATUS_OF_A_CARD_FORM = 203


def allow_form_to(response: HttpResponse, *addresses: str) -> None:
    """Let the page's form lead to the origins of these addresses, and to ourselves.

    Browsers check every redirect that follows the form too, so name where the chain
    ends as well (architecture 7).

    :raises BadUrl: an address is not one that everybody reads alike.
    """
    origins = [_origin(address) for address in addresses]
    # The middleware keeps a policy that is there already.
    response[HEADER] = build_policy(update={"form-action": origins})


def allow_form_to_end_anywhere(response: HttpResponse) -> None:
    """Let the page's form end at a shop, and wherever the shop redirects to (its `www`, say).

    Browsers hold `form-action` against those redirects too. A shop's are not ours to know, so any
    site may be the end: over https, in a sandbox over http too.
    """
    # A policy that names http allows https as well.
    anywhere = "https:" if settings.LIVEMODE else "http:"
    response[HEADER] = build_policy(update={"form-action": [anywhere]})


@once
def integrity_of(script: str) -> str:
    """Return the digest by which browsers know a script of ours: a changed one does not run.

    :param script: its name among the static files.
    """
    found = finders.find(script)
    assert isinstance(found, str)
    return f"sha384-{b64encode(hashlib.sha384(Path(found).read_bytes()).digest()).decode()}"


def _origin(address: str) -> str:
    url = urls.parse(address)
    is_default = urls.DEFAULT_PORTS[url.scheme] == url.port
    return f"{url.scheme}://{url.host}" + ("" if is_default else f":{url.port}")
