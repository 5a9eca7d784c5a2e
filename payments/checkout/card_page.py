"""The contents of a session's pages: the order, and the fields of the form that takes the card."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from core import countries, money
from payments.checkout import card_form, drafts, links
from payments.checkout.card_form import SENTENCES
from payments.checkout.models import CheckoutSession
from payments.checkout.states import COMPLETES_A_SESSION
from payments.checkout.tickets import Ticket

# More lines than these are folded away.
LINES_SHOWN = 5
LANGUAGES = {"en": ("tr", "Türkçe"), "tr": ("en", "English")}


@dataclass(frozen=True, slots=True)
class InputField:
    """A field of the form, as its template shows it.

    :param name: the name in the code; `spelled` is the one in the page.
    """

    name: str
    label: Promise | str
    autocomplete: str
    spelled: str
    maxlength: int
    is_numeric: bool = False
    kind: str = "text"
    hint: Promise | str = ""
    value: str = ""
    problem: Promise | str = ""
    is_required: bool = True

    @property
    def described_by(self) -> str:
        """Return the ids of what describes the field."""
        parts = [f"{self.spelled}-hint" if self.hint else ""]
        parts.append(f"{self.spelled}-problem" if self.problem else "")
        return " ".join(filter(None, parts))


_CODE_HINT = _("3 digits on the back. American Express: 4 on the front.")
# Label, autocomplete, longest text. The e-mail is `billing` as the address is: browsers fill the
# fields of one group by one choice.
_LOOKS: dict[str, tuple[Promise | str, str, int]] = {
    "number": (_("Card number"), "cc-number", 30),
    "exp_month": (_("Month"), "cc-exp-month", 2),
    "exp_year": (_("Year"), "cc-exp-year", 4),
    "cvc": (_("Security code"), "cc-csc", 4),
    "name": (_("Name on card"), "cc-name", 200),
    "email": (_("E-mail"), "billing email", 254),
    "line1": (_("Address"), "billing address-line1", 500),
    "city": (_("Town or city"), "billing address-level2", 200),
    "postal_code": (_("Postcode (optional)"), "billing postal-code", 40),
    "country": (_("Country"), "billing country", 2),
}


def input_fields(
    asked: tuple[str, ...], ticket: Ticket, texts: dict[str, str], problems: dict[str, str]
) -> dict[str, InputField]:
    """Return the fields that a form shows, by their names.

    :param asked: the fields that are not the card's.
    :param texts: what was typed before; no card's field is among them.
    :param problems: by field, a name among `SENTENCES`.
    """
    card = () if ticket.held else card_form.CARD_FIELDS
    fields = {}
    for name in (*card, *asked):
        label, autocomplete, maxlength = _LOOKS[name]
        is_card = name in card_form.CARD_FIELDS
        fields[name] = InputField(
            name=name,
            label=label,
            autocomplete=autocomplete,
            spelled=f"{name}_{ticket.suffix}" if is_card else name,
            maxlength=maxlength,
            is_numeric=is_card,
            kind="email" if name == "email" else "text",
            hint=_CODE_HINT if name == "cvc" else "",
            value="" if is_card else texts.get(name, ""),
            problem=SENTENCES[problems[name]] if name in problems else "",
            is_required=name not in card_form.OPTIONAL,
        )
    return fields


def countries_of(session: CheckoutSession) -> list[tuple[str, str]]:
    """Return codes and names of countries, the merchant's first."""
    named = countries.named(get_language() or "en")
    own = session.merchant.country
    return sorted(named, key=lambda one: one[0] != own)


def facts_of(session: CheckoutSession, *, locale: str = "") -> dict[str, Any]:
    """Return what every page of a session shows: the shop, the order, the ways on.

    :param locale: the language that the payer has chosen: links and forms keep it.
    """
    intent, language = session.intent, get_language() or "en"
    other, other_name = LANGUAGES.get(language, LANGUAGES["en"])
    has_paid = intent.status in COMPLETES_A_SESSION
    whole = intent.amount + (intent.surcharge if has_paid else 0)
    return {
        "merchant_name": session.merchant.name,
        "shop_host": urlsplit(session.success_url).hostname if session.success_url else None,
        "description": intent.description,
        "amount": money.written(whole, intent.currency),
        "back_url": drafts.with_id(session.cancel_url, session.id) if session.cancel_url else None,
        "path": links.path(session.id),
        "query": f"?locale={locale}" if locale else "",
        "language": language,
        "other_language": other,
        "other_language_name": other_name,
        "is_sandbox": not settings.LIVEMODE,
    }


def lines_of(session: CheckoutSession) -> dict[str, Any]:
    """Return the lines of the payment, the first of them apart from the rest."""
    lines = [
        {"name": line.name, "quantity": line.quantity, "amount": _written(line)}
        for line in session.intent.line_items.order_by("position")
    ]
    # One line more is no reason to fold any.
    shown = len(lines) if len(lines) <= LINES_SHOWN + 1 else LINES_SHOWN
    return {"lines": lines[:shown], "more_lines": lines[shown:]}


def _written(line: Any) -> str:
    return money.written(line.amount, line.currency)
