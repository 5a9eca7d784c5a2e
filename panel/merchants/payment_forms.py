"""The forms of what is done with a payment; the amounts are read in the page's notation."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from core import money
from panel.merchants.acts import Refusable
from panel.merchants.list_forms import no_amount
from panel.merchants.payment_words import CANCELLATIONS, REFUND_REASONS, REFUSALS
from payments.intents.forms import CANCELLATION_REASONS
from payments.intents.models import PaymentIntent
from payments.intents.notes import LONGEST

ALL, PART = "all", "part"
NO_REASON: tuple[str, Any] = ("", _("None"))


class ActForm(Refusable):
    """A form that acts on a payment."""

    use_required_attribute = False

    words = REFUSALS

    def __init__(self, data: Any, payment: PaymentIntent) -> None:
        self.payment = payment
        super().__init__(data)

    def input_of(self, param: str) -> str:
        return "amount" if param == "amount_to_capture" else super().input_of(param)


class AmountForm(ActForm):
    """A form about all that is there of a payment, or an amount of its currency."""

    how_much = forms.ChoiceField(
        label=_("How much"),
        required=False,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    amount = forms.CharField(
        label=_("Amount"),
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
    )

    def __init__(self, data: Any, payment: PaymentIntent, *, most: int) -> None:
        """:param most: in minor units."""
        super().__init__(data, payment)
        self.most = most
        self.fields["amount"].label = f"{_('Amount')} ({payment.currency.upper()})"
        whole = money.written(most, payment.currency)
        self.fields["amount"].help_text = _("At most %(amount)s.") % {"amount": whole}
        all_of_it = _("All that is left: %(amount)s") % {"amount": whole}
        choices = [(ALL, all_of_it), (PART, _("A part of it"))]
        self.fields["how_much"].choices = choices  # type: ignore[attr-defined]
        self.fields["how_much"].initial = ALL

    def clean_amount(self) -> int | None:
        """Return an amount in minor units; None for all that is there."""
        if self.cleaned_data.get("how_much") == ALL:
            return None
        if not self.cleaned_data["amount"]:
            raise forms.ValidationError(_("Give an amount."))
        try:
            amount = money.read(self.cleaned_data["amount"], self.payment.currency)
        except ValueError:
            raise forms.ValidationError(no_amount(self.payment.currency)) from None
        if amount < 1:
            raise forms.ValidationError(no_amount(self.payment.currency))
        return amount


class CaptureForm(AmountForm):
    pass


class RefundPaymentForm(AmountForm):
    reason = forms.ChoiceField(
        label=_("Reason"), required=False, choices=[NO_REASON, *REFUND_REASONS.items()]
    )


class CancelForm(ActForm):
    cancellation_reason = forms.ChoiceField(
        label=_("Reason"),
        required=False,
        choices=[NO_REASON, *((name, CANCELLATIONS[name]) for name in CANCELLATION_REASONS)],
    )


class NoteForm(ActForm):
    note = forms.CharField(
        label=_("Note"),
        max_length=LONGEST,
        help_text=_("Up to 500 characters. Your team sees it in the timeline."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
