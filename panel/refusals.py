"""Sentences of refusals that rooms below give, in the language of the page.

Those rooms speak English, to programs and to operators too. Each sentence that a person may meet in
the panel is listed here, so that it is translated; one that is not is shown in English.
"""

from django.utils.translation import gettext, gettext_noop

from core.errors import DomainError

SENTENCES = (
    # merchants.sites
    gettext_noop("This is not a website's address."),
    gettext_noop("A website is an https address with a public name."),
    gettext_noop("This name is a public suffix: anybody may have a site below it."),
    gettext_noop("This is not an http or https address."),
    gettext_noop("A callback URL has no query and no fragment."),
    gettext_noop("A callback URL of a live installation begins with https://."),
    gettext_noop("A merchant has up to 50 websites."),
    gettext_noop("A merchant has up to 50 callback URLs."),
    gettext_noop(
        "The address must be a plain absolute http or https address: an ASCII host name, no user"
        " info, white space, backslash or dot segment."
    ),
    gettext_noop(
        "An http address must be under a registered callback URL, with its scheme and port."
    ),
    gettext_noop(
        "The address is not on a registered website and under no registered callback URL."
    ),
    # webhooks.destinations
    gettext_noop(
        "The url must be a plain absolute address of up to 2000 characters: an ASCII host name, no"
        " user info, white space, backslash or dot segment."
    ),
    gettext_noop("The url must begin with https://."),
    gettext_noop(
        "The url must have a public host name, with a dot: no IP address, no broken punycode."
    ),
    gettext_noop("The url's port must be one of: 443."),
    gettext_noop("The url is neither on a registered website nor under a registered callback URL."),
)


def sentence(refusal: Exception | str) -> str:
    """Return a refusal's sentence in the language of the page."""
    text = refusal.text if isinstance(refusal, DomainError) else str(refusal)
    return gettext(text)
