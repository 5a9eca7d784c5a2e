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
    # merchants.keys
    gettext_noop("A key's name has 1 to 100 characters."),
    gettext_noop("There is an invisible character in the key's name."),
    gettext_noop("There is a card number in the key's name."),
    # core.rest.fields, of names that people read
    gettext_noop("Must be one line, with something to see in it."),
    gettext_noop("There is a secret key in the key's name."),
    gettext_noop("A key expires within two years, or not at all."),
    gettext_noop("A merchant has up to 100 keys that work."),
    gettext_noop("The key is revoked or has expired."),
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
    # webhooks.forms and webhooks.endpoints
    gettext_noop("The element * stands for all types and must be the only one."),
    gettext_noop("There is no such event type."),
    gettext_noop("The event type is named twice."),
    gettext_noop("The text is too long."),
    gettext_noop("Must be an integer in the allowed range."),
    gettext_noop("A merchant has up to 16 webhook endpoints."),
    gettext_noop("The webhook endpoint's status, disabled, does not allow this."),
    gettext_noop("The webhook endpoint's status, failing, does not allow this."),
    gettext_noop("The endpoint is not subscribed to the event's type."),
    # merchants.terms
    gettext_noop("Notices go to up to 10 addresses."),
    gettext_noop("An address is named twice."),
    gettext_noop("name: there is a card number in it."),
    gettext_noop("name: Must be one line, with something to see in it."),
    # merchants.team and merchants.invitations
    gettext_noop("You are no longer an owner of this team."),
    gettext_noop("A team keeps at least one owner. Make somebody else an owner first."),
    gettext_noop("This person is not in the team any more."),
    gettext_noop("There is no such role."),
    gettext_noop("This person is in the team already."),
    gettext_noop("This is not an e-mail address."),
    gettext_noop("A team has up to 100 people and open invitations."),
    gettext_noop("A team sends up to 50 invitations a day."),
    # payments.customers
    gettext_noop("A required parameter is missing."),
    gettext_noop("Must be an e-mail address."),
    gettext_noop("Must be a country's two letters, as ISO 3166 has them, or XK."),
    gettext_noop("Must be an array of up to 20 locales."),
    gettext_noop("Must be a language, with or without script and region: en, tr-TR, zh-Hant-TW."),
    gettext_noop("The locale is named twice."),
    gettext_noop("A key has 1 to 40 characters, without [ and ]."),
    gettext_noop("A value is a string of up to 500 characters."),
    gettext_noop("Metadata has up to 50 keys."),
    # core.errors and core.rest
    gettext_noop("The parameter's value is not valid."),
    gettext_noop("There is no such object."),
    gettext_noop("Another request is changing this object. Try again shortly."),
)


def sentence(refusal: Exception | str) -> str:
    """Return a refusal's sentence in the language of the page."""
    text = refusal.text if isinstance(refusal, DomainError) else str(refusal)
    return gettext(text)
