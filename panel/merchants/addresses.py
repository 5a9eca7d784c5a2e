"""Card numbers and secret keys in the address of a page, which no page may use or repeat."""

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.detection import contains_encoded_card_number
from core.secrets_in_text import holds_secret_key


def unsafe(request: HttpRequest) -> str | Promise | None:
    """Return why nothing of a request's query may be used or repeated; None if all of it may."""
    text = request.META.get("QUERY_STRING", "").replace("+", " ")
    if contains_encoded_card_number(text):
        return _("There is a card number in this address. Never search for one.")
    if any(holds_secret_key(value) for _name, values in request.GET.lists() for value in values):
        return _("There is a secret key in this address. If others could see it, roll it.")
    return None
