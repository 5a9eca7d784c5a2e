"""Payments in review: a person clears them, or calls them fraud (`fraud_updates.judge`)."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path

from core import money
from core.errors import ResourceMissing
from panel.operators import desk, listing
from panel.operators.desk import Section
from panel.operators.forms import ReasonForm
from payments.charging import fraud_updates
from payments.charging.fraud_updates import JudgedMeanwhile
from payments.intents.models import PaymentIntent
from payments.risk.verdicts import FraudStatus

VIEW, JUDGE = "intents.view_paymentintent", fraud_updates.JUDGE


class JudgeForm(ReasonForm):
    """A person's judgement of a payment. `seen` is the verdict that they were shown."""

    verdict = forms.ChoiceField(
        choices=[(FraudStatus.CLEAR.value, "Clear: no fraud"), (FraudStatus.FRAUD.value, "Fraud")],
        widget=forms.RadioSelect,
    )
    field_order = ("verdict", "why", "seen")


@desk.page(VIEW)
def listed(request: HttpRequest) -> HttpResponse:
    """Show the payments that a rule marked for review, the newest first."""
    rows = PaymentIntent.objects.filter(fraud__status=FraudStatus.REVIEW.value).select_related(
        "merchant"
    )
    found = listing.page(request, rows)
    payments = [_facts(row) for row in found.rows]
    shown: dict[str, Any] = {"found": found, "payments": payments}
    return desk.show(request, "desk/review/list.html", "Payments in review", **shown)


@desk.page(JUDGE, methods=("GET", "POST"))
def judge(request: HttpRequest, payment_id: str) -> HttpResponse:
    """Show a payment's verdict, and let a person replace it."""
    payment = PaymentIntent.objects.select_related("merchant").filter(id=payment_id).first()
    if payment is None or not payment.fraud:
        raise ResourceMissing
    form = JudgeForm(desk.sent(request))
    form.fields["seen"].initial = payment.fraud["status"]
    if form.is_valid():
        if _is_judged(request, payment, form):
            return desk.see_other("desk_review")
        form.refused_status = 409
    trail = [("Payments in review", desk.address("desk_review"))]
    return desk.ask(
        request, form, f"Judge {payment.id}", trail, template="desk/review/judge.html",
        payment=_facts(payment),
    )  # fmt: skip


def _is_judged(request: HttpRequest, payment: PaymentIntent, form: JudgeForm) -> bool:
    typed = form.cleaned_data
    wanted = FraudStatus(typed["verdict"])
    try:
        fraud_updates.judge(
            desk.operator(request), payment.id, wanted, reason=typed["why"], seen=typed["seen"]
        )
    except JudgedMeanwhile:
        payment.refresh_from_db()
        if payment.fraud["status"] == wanted.value:
            messages.info(request, f"{payment.id} was judged so already.")
            return True
        form.add_error(None, "The verdict is another one by now: look at it, and judge again.")
        return False
    messages.success(request, f"{payment.id}: {wanted.value}.")
    return True


def _facts(payment: PaymentIntent) -> dict[str, Any]:
    return {
        "row": payment,
        "amount": money.written(payment.amount + payment.surcharge, payment.currency),
        "card": (payment.card or {}).get("masked"),
        "email": (payment.billing_details or {}).get("email"),
        "fraud": payment.fraud or {},
    }


SECTION = Section(
    "Review",
    [
        path("review/", listed, name="desk_review"),
        path("review/<str:payment_id>/", judge, name="desk_review_judge"),
    ],
)
