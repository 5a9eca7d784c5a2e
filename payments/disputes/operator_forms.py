"""The forms by which operators open and decide disputes in the admin."""

from typing import Any

from django import forms

from core import clock
from core.operator_forms import OnceForm, WithReason
from payments.disputes.decisions import Claim
from payments.disputes.models import Dispute
from payments.disputes.notices import TIME_TO_ANSWER
from payments.disputes.operators import Beginning, DisputeDecision
from payments.disputes.states import DISPUTES, Reason


class OpenForm(OnceForm):
    """A dispute that the operator has heard of."""

    amount = forms.IntegerField(min_value=1, help_text="In minor units: 12500 is 125.00.")
    due_by = forms.DateTimeField(
        required=False, label="Evidence is due by", help_text="UTC; in seven days if left empty."
    )
    network_reason_code = forms.CharField(max_length=40, required=False)

    payment = forms.CharField(max_length=40, label="The payment's id (pi_…)")
    beginning = forms.ChoiceField(choices=Beginning.choices)
    reason = forms.ChoiceField(choices=Reason.choices, label="The cardholder's reason")
    bank_reference = forms.RegexField(
        r"^[0-9A-Za-z_-]{1,40}$", required=False, label="The bank's own id of it"
    )
    field_order = ("payment", "beginning", "amount", "reason")

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, about="disputes.open", noun="dp")

    def claimed(self) -> Claim:
        """Return the terms that the operator has typed."""
        typed: dict[str, Any] = self.cleaned_data
        return Claim(
            bank_reference=typed["bank_reference"],
            amount=typed["amount"],
            reason=typed["reason"],
            network_reason_code=typed["network_reason_code"] or None,
            due_by=typed["due_by"] or clock.now() + TIME_TO_ANSWER,
        )


class DecideForm(WithReason):
    """A decision about a dispute: one of those that its status allows.

    `seen` is the status that the operator was shown.
    """

    decision = forms.ChoiceField()
    seen = forms.CharField(widget=forms.HiddenInput)
    due_by = forms.DateTimeField(
        required=False, label="Evidence is due by", help_text="UTC; of a chargeback alone."
    )
    field_order = ("decision", "due_by")

    def __init__(self, dispute: Dispute, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.dispute = dispute
        self.fields["seen"].initial = dispute.status
        allowed = [one for one in DisputeDecision if (dispute.status, one.value) in DISPUTES.pairs]
        self.fields["decision"].choices = [(one.value, one.label) for one in allowed]  # type: ignore[attr-defined]

    def show_status(self) -> None:
        """Let the form that was refused go with the status that the page shows now."""
        # By items: a form's data unpacked at once would give the list of each field's values.
        self.data = dict(self.data.items()) | {"seen": self.dispute.status}

    def terms(self) -> Claim:
        """Return the terms of a chargeback: the inquiry's, with the due date that was typed."""
        return Claim(
            bank_reference=self.dispute.bank_reference,
            amount=self.dispute.amount,
            reason=self.dispute.reason,
            network_reason_code=self.dispute.network_reason_code,
            due_by=self.cleaned_data["due_by"] or clock.now() + TIME_TO_ANSWER,
        )
