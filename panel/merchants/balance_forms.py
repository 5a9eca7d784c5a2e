"""The forms of payouts and top-ups; amounts are read in the page's notation."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from core import money
from merchants.models import Merchant, PayoutAccount
from panel.merchants.acts import Refusable
from panel.merchants.balance_words import REFUSALS
from panel.merchants.list_forms import no_amount, text
from payouts.destinations import OF_A_SANDBOX, masked
from payouts.forms import STATEMENT_MAX
from payouts.topups import creation

SOURCES: dict[str, Any] = {
    "": _("The transfer comes within five seconds"),
    creation.FAILS: _("The bank cannot process it"),
    creation.IS_REVERSED: _("It comes, and is taken back five seconds later"),
    creation.NEVER_COMES: _("It never comes"),
}


class MoneyActForm(Refusable):
    """A form that acts on a payout or a top-up."""

    use_required_attribute = False
    words = REFUSALS


class AmountForm(MoneyActForm):
    """A form with a currency and an amount of it."""

    amount = forms.CharField(
        label=_("Amount"),
        error_messages={"required": _("Give an amount.")},
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )
    currency = forms.ChoiceField(label=_("Currency"))
    description = text(_("Description"))

    def __init__(self, data: Any, merchant: Merchant) -> None:
        super().__init__(data, initial={"currency": merchant.default_currency})
        known = [(code, code.upper()) for code in settings.CURRENCIES]
        self.fields["currency"].choices = known  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Read the amount in the currency that was chosen."""
        found = self.cleaned_data
        if "amount" in found and "currency" in found:
            try:
                found["amount"] = money.read(found["amount"], found["currency"])
            except ValueError:
                self.add_error("amount", no_amount(found["currency"]))
        if found.get("amount") == 0:
            self.add_error("amount", no_amount(found["currency"]))
        return found

    @property
    def draft(self) -> dict[str, Any]:
        """Return the values as a body of the API; inputs left empty are not there."""
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", None)}


class CreatePayoutForm(AmountForm):
    destination = forms.ChoiceField(
        label=_("Account"),
        required=False,
        help_text=_("Only accounts that we have registered for you. Ask us to register another."),
    )
    statement_descriptor = text(_("Text on the statement"), maxlength=str(STATEMENT_MAX))

    field_order = ("amount", "currency", "destination", "statement_descriptor", "description")

    def __init__(self, data: Any, merchant: Merchant) -> None:
        super().__init__(data, merchant)
        own = PayoutAccount.objects.for_merchant(merchant).order_by("-is_default", "reference")
        known = [(one.reference, _account(one)) for one in own]
        self.has_account = bool(known)
        if not settings.LIVEMODE:
            known += [(one, one) for one in sorted(OF_A_SANDBOX)]
        self.fields["destination"].choices = known  # type: ignore[attr-defined]
        self.fields["statement_descriptor"].help_text = _("Up to 22 characters.")


class CreateTopupForm(AmountForm):
    field_order = ("amount", "currency", "description", "source")

    def __init__(self, data: Any, merchant: Merchant) -> None:
        super().__init__(data, merchant)
        if not settings.LIVEMODE:
            # Of the test bank.
            self.fields["source"] = forms.ChoiceField(
                label=_("How the test goes on"), required=False, choices=[*SOURCES.items()]
            )


def _account(account: PayoutAccount) -> str:
    return f"{account.reference} · {account.holder_name} · {masked(account.iban)}"
