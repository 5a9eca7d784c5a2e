"""The forms that ask for a payment by link; the rules are those of the API's form."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from core import clock
from merchants.models import Merchant
from panel.merchants.acts import Refusable
from panel.merchants.balance_forms import AmountForm
from panel.merchants.checkout_words import LANGUAGES, REFUSALS
from panel.merchants.list_forms import text
from panel.merchants.payment_forms import ActForm
from payments.checkout.states import Locale
from payments.intents.models import PaymentIntent

DAYS = (1, 3, 7, 30)
DAYS_AT_FIRST = 7


class LinkTerms(Refusable):
    """The terms of a payment page that a person chooses."""

    words = REFUSALS
    # By a parameter of the API, the input that it is made of.
    inputs = {"payment_intent_data": "description", "expires_at": "days"}

    customer_email = text(_("E-mail address"), inputmode="email")
    customer_email.help_text = _("If you give it, the page does not ask for it.")
    locale = forms.ChoiceField(label=_("Language"), choices=[*LANGUAGES.items()])
    days = forms.TypedChoiceField(
        label=_("The link works for"),
        coerce=int,
        choices=lambda: [(days, ngettext("%d day", "%d days", days) % days) for days in DAYS],
    )
    installments = forms.BooleanField(label=_("The payer may choose installments"), required=False)

    def input_of(self, param: str) -> str:
        name = super().input_of(param)
        return self.inputs.get(name, name)

    @property
    def terms(self) -> dict[str, Any]:
        """Return the terms as a body of the API."""
        chosen = self.cleaned_data
        card = {"installments": {"enabled": chosen["installments"]}}
        ends_at = clock.now() + timedelta(days=chosen["days"])
        given = {"customer_email": chosen["customer_email"]} if chosen["customer_email"] else {}
        return {
            **given,
            "locale": chosen["locale"],
            "expires_at": clock.unix(ends_at),
            "payment_method_options": {"card": card},
        }


CHOSEN_AT_FIRST = {"locale": Locale.AUTO.value, "days": DAYS_AT_FIRST, "installments": True}


class AskForm(LinkTerms, AmountForm):
    """The terms of a payment that is made with its page."""

    field_order = (
        "amount", "currency", "description", "customer_email", "locale", "days", "installments",
    )  # fmt: skip

    def __init__(self, data: Any, merchant: Merchant) -> None:
        super().__init__(data, merchant)
        self.initial.update(CHOSEN_AT_FIRST)
        self.fields["description"].help_text = _("The payer sees it.")

    @property
    def draft(self) -> dict[str, Any]:
        """Return the values as a body of the API."""
        described = self.cleaned_data["description"]
        paid = {name: self.cleaned_data[name] for name in ("amount", "currency")}
        payment = {"payment_intent_data": {"description": described}} if described else {}
        return {**paid, **payment, **self.terms}


class AskAgainForm(LinkTerms, ActForm):
    """The terms of a page for a payment that is there already."""

    words = {**ActForm.words, **REFUSALS}

    def __init__(self, data: Any, payment: PaymentIntent) -> None:
        super().__init__(data, payment)
        self.initial.update(CHOSEN_AT_FIRST)
        self.initial["customer_email"] = payment.billing_details.get("email")

    @property
    def draft(self) -> dict[str, Any]:
        """Return the values as a body of the API."""
        return {"payment_intent": self.payment.id, **self.terms}


class EndForm(Refusable):
    """A button."""

    words = REFUSALS
