"""The form that takes a card: its bytes are read, and all that is wrong is said at once."""

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.serializers import Field, ValidationError

from core import clock
from core.cards import CardData, is_expired
from core.detection import contains_encoded_card_number
from core.rest.forms import Form, form_of
from core.rest.parsers import CardInput, page_form
from payments.charging import methods
from payments.checkout import tickets
from payments.checkout.models import CheckoutSession
from payments.checkout.tickets import Step, Ticket, TicketRefused
from payments.customers.forms import AddressForm
from payments.intents.cards import CENTURY, CardForm, cvc_length, is_cvc
from payments.intents.forms import BillingDetailsForm

BYTES_MAX = 16 * 1024
# In the order of the page. The names of the card's end in a part of the ticket's nonce.
CARD_FIELDS = ("number", "exp_month", "exp_year", "cvc")
CONTACT = ("email",)
ADDRESS = ("line1", "city", "postal_code", "country")
TEXTS = ("name", *CONTACT, *ADDRESS)
OPTIONAL = ("postal_code",)
# Of three or four digits in many countries, as a security code is.
MAY_BE_SHORT_DIGITS = ("postal_code", "country")
# People do not see it; programs fill in every field.
UNSEEN = "note_2"
# Written between the digits of a number by people and by keyboards.
_BETWEEN = {"Zs", "Pd", "Cf"}
_MINUS = "\u2212"
_CODE = re.compile(r"\d{3,4}")

SENTENCES: dict[str, Promise | str] = {
    "number": _("Check the card number: a digit is missing or wrong."),
    "not_taken": _("This card cannot be used here. Use another card."),
    "not_taken_in_sandbox": _("This is a sandbox. It takes the test cards below, and no others."),
    "not_in_parts": _("This card cannot pay in installments here. Use another card."),
    "exp_month": _("Type the month as it stands on the card: 1 to 12."),
    "exp_year": _("Type the year as it stands on the card."),
    "expired": _("This card has expired. Check the date, or use another card."),
    "cvc": _("Type the security code: 3 digits."),
    "cvc_of_four": _("Type the security code: 4 digits on the front."),
    "name": _("Type the name on the card."),
    "email": _("Type an e-mail address, such as name@example.com."),
    "line1": _("Type your street and house number."),
    "city": _("Type your town or city."),
    "postal_code": _("Check the postcode."),
    "country": _("Choose your country."),
    "too_long": _("This text is too long."),
    "no_card_here": _("Type no card number and no security code here."),
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A form as it came.

    :param texts: all fields but the card's.
    :param card: the card, if one was typed; unchecked.
    :param is_by_a_program: the field is filled that people do not see.
    """

    ticket: Ticket
    texts: dict[str, str] = field(repr=False)
    card: CardInput
    is_by_a_program: bool = False

    @property
    def again(self) -> "Checked":
        """Return what the page shows again; the card is typed again."""
        return Checked(texts=_without_cards(self.texts), is_doubted=self.ticket.is_doubted)


@dataclass(slots=True)
class Checked:
    """A form after the look at its fields.

    :param problems: by field, in the order of the page, a name among `SENTENCES`.
    :param card: right in itself; None if it is not, or a held one takes its place.
    :param billing: the payer's details as a confirm takes them.
    :param texts: what the page shows again.
    :param is_doubted: as the form's ticket has it.
    """

    problems: dict[str, str] = field(default_factory=dict)
    card: CardData | None = None
    billing: dict[str, Any] = field(default_factory=dict, repr=False)
    texts: dict[str, str] = field(default_factory=dict, repr=False)
    is_doubted: bool = False

    def refuse(self, name: str, sentence: str) -> None:
        """Add a problem that only a later step has found."""
        self.problems = {name: sentence, **self.problems}


NOTHING_TYPED = Checked()


class Unreadable(TicketRefused):
    """The form's ticket is of no use.

    :param again: what the page shows again; the card is typed again.
    """

    def __init__(self, again: Checked) -> None:
        super().__init__()
        self.again = again


def read(request: HttpRequest, session: CheckoutSession, step: Step = Step.CARD) -> Typed:
    """Return the form that a request brings; the card is lifted out of the fields at once.

    :raises DomainError: it is no form, or too large (`core.rest.parsers.page_form`).
    :raises Unreadable: its ticket is none, of another session or step, or too old.
    """
    fields = page_form(request, bytes_max=BYTES_MAX)
    texts = {name: fields.get(name, "").strip() for name in (*TEXTS, "installments")}
    try:
        ticket = tickets.opened(session, step, fields.get("form", ""))
    except TicketRefused:
        raise Unreadable(Checked(texts=_without_cards(texts))) from None
    card = {name: _plain(fields.pop(f"{name}_{ticket.suffix}", "")) for name in CARD_FIELDS}
    return Typed(ticket, texts, CardInput(card), is_by_a_program=bool(fields.get(UNSEEN)))


def known_of(session: CheckoutSession) -> dict[str, Any]:
    """Return the details that the merchant has given: the page does not ask for them."""
    customer = session.customer
    of_customer: dict[str, Any] = {}
    if customer is not None:
        parts = {"name": customer.name, "email": customer.email, "address": customer.address}
        of_customer = {name: value for name, value in parts.items() if value}
    return methods.merged_billing(of_customer, session.billing_details)


def asked_of(known: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of the fields that the page asks for, without the card's."""
    address = known.get("address") or {}
    needed = [name for name in ADDRESS if name not in OPTIONAL and not address.get(name)]
    whole = ADDRESS if len(needed) == len(ADDRESS) - len(OPTIONAL) else tuple(needed)
    return ("name", *(() if known.get("email") else CONTACT), *whole)


def check(typed: Typed, known: dict[str, Any]) -> Checked:
    """Look at every field, so that all that is wrong is said at once.

    :param known: the details that the merchant has given.
    """
    problems: dict[str, str] = {}
    card = None if typed.ticket.held else _card(typed, problems)
    values = {name: _text(name, typed.texts[name], problems) for name in asked_of(known)}
    if card is not None and values["name"]:
        card.holder_name = values["name"]
    address = {name: values[name] for name in ADDRESS if values.get(name)}
    given = {
        **({"name": values["name"]} if values["name"] and not known.get("name") else {}),
        **({"email": values["email"]} if values.get("email") else {}),
        **({"address": address} if address else {}),
    }
    billing = methods.billing_of({"billing_details": methods.merged_billing(known, given)})
    return Checked(
        problems, card, billing, _without_cards(typed.texts), is_doubted=typed.ticket.is_doubted
    )


# --- The card ---------------------------------------------------------------------------------


def _card(typed: Typed, problems: dict[str, str]) -> CardData | None:
    given = typed.card.fields
    number = _number(given["number"])
    if number is None:
        problems["number"] = "number"
    month, year = _integer(given["exp_month"]), _integer(given["exp_year"])
    year = year + 2000 if year is not None and len(given["exp_year"]) == 2 else year
    if month is None or not 1 <= month <= 12:
        problems["exp_month"] = "exp_month"
    if year is None or not CENTURY[0] <= year <= CENTURY[1]:
        problems["exp_year"] = "exp_year"
    elif "exp_month" not in problems and is_expired(year, month or 0, now=clock.now()):
        problems["exp_month"] = "expired"
    if not _is_code(given["cvc"], number):
        of_four = number is not None and cvc_length(number) == 4
        problems["cvc"] = "cvc_of_four" if of_four else "cvc"
    if problems or number is None or month is None or year is None:
        return None
    return CardData(number, month, year, given["cvc"])


def _number(typed: str) -> str | None:
    form: Any = form_of(CardForm)
    try:
        return str(form.validate_number(typed))
    except ValidationError:
        return None


def _integer(typed: str) -> int | None:
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= 4 else None


def _is_code(typed: str, number: str | None) -> bool:
    """Return whether a code has the brand's length; of a wrong number, that of any brand."""
    if number is None:
        return is_cvc(typed, 3) or is_cvc(typed, 4)
    return is_cvc(typed, cvc_length(number))


def _plain(typed: str) -> str:
    """Return digits of any script as ASCII ones, without what people write between them."""
    return "".join(map(_plain_character, typed))


def _plain_character(char: str) -> str:
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    is_between = char.isspace() or char == _MINUS or unicodedata.category(char) in _BETWEEN
    return "" if is_between else char


# --- The other fields -------------------------------------------------------------------------


def _text(name: str, typed: str, problems: dict[str, str]) -> str | None:
    """Return a field's value as the API's own field takes it; None if there is none, or a wrong."""
    if holds_card_data(name, typed):
        problems[name] = "no_card_here"
        return None
    if not typed and name in OPTIONAL:
        return None
    try:
        value = _field(name).run_validation(typed) if typed else None
    except ValidationError as problem:
        is_long = "too_long" in (problem.get_codes() or ())
        problems[name] = "too_long" if is_long else name
        return None
    if value is None:
        problems[name] = name
    return value


def holds_card_data(name: str, typed: str) -> bool:
    """Return whether a text holds a card number, or is nothing but what may be a code."""
    is_code = name not in MAY_BE_SHORT_DIGITS and _CODE.fullmatch(_plain(typed)) is not None
    return is_code or contains_encoded_card_number(typed)


def _field(name: str) -> Field:
    form: type[Form] = AddressForm if name in ADDRESS else BillingDetailsForm
    found: Field = form_of(form).fields[name]
    return found


def _without_cards(texts: dict[str, str]) -> dict[str, str]:
    shown = {name: texts[name] for name in TEXTS}
    return {name: text for name, text in shown.items() if not holds_card_data(name, text)}
