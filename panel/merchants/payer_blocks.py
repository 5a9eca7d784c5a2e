"""A payer is blocked for the merchant's account, by card or e-mail, and let in again."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import clock, local_days
from merchants.models import Member
from panel import once
from panel.merchants import acts
from panel.merchants.list_forms import LAST, NO_DAY
from panel.merchants.pages import page
from panel.merchants.payment_acts import WORDS
from panel.merchants.payment_forms import ActForm
from panel.merchants.payments import address, find
from payments.intents import payer_blocks
from payments.intents.models import PaymentIntent
from payments.risk import own_blocks
from payments.risk.lists import BlockEntry, Kind
from payments.risk.models import ListEntry
from payments.risk.own_blocks import REASON_MAX, BlockedByOperator, ReasonUnusable

KINDS: dict[str, Any] = {Kind.CARD.value: _("This card"), Kind.EMAIL.value: _("This e-mail")}


class _ReasonForm(ActForm):
    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_MAX,
        help_text=_("For your team. Up to 500 characters."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    words = {
        **ActForm.words,
        ReasonUnusable.code: _("Give a reason, up to 500 characters, without card numbers."),
    }

    def refuse(self, problem: Exception) -> None:
        if isinstance(problem, BlockedByOperator):
            self.add_error("reason", _("We have blocked it ourselves. Ask us why."))
        else:
            super().refuse(problem)


class BlockForm(_ReasonForm):
    """One of the payer's marks (`kind`), the reason, and the last day (`until`) if there is one."""

    kind = forms.ChoiceField(
        label=_("Block"), widget=forms.RadioSelect(attrs={"class": "form-check-input"})
    )
    until = forms.DateField(
        label=_("Until the end of"),
        required=False,
        input_formats=["%Y-%m-%d"],
        error_messages={"invalid": NO_DAY},
        help_text=_("Leave it empty to block for good."),
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )
    field_order = ("kind", "reason", "until")

    def __init__(self, data: Any, payment: PaymentIntent, *, zone: str) -> None:
        super().__init__(data, payment)
        self._zone = zone
        known = payer_blocks.known(payment, payment.attempts.order_by("created_at", "id").last())
        choices = [(kind, f"{KINDS[kind]}: {shown}") for kind, (_value, shown) in known.items()]
        self.fields["kind"].choices = choices  # type: ignore[attr-defined]
        self.fields["kind"].initial = next(iter(known), "")
        self.is_possible = bool(choices)

    def clean_until(self) -> datetime | None:
        """Return the last instant of the day."""
        day: date | None = self.cleaned_data["until"]
        if day is None:
            return None
        if day > LAST:
            raise forms.ValidationError(NO_DAY)
        end = local_days.ends(day, self._zone)
        if end <= clock.now():
            raise forms.ValidationError(_("This day is over."))
        return end


@page("POST")
def block_payer(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask for card or e-mail, a reason and a last day, and block the payer for the account."""
    row = find(member, payment)
    form = BlockForm(acts.sent(request), row, zone=member.merchant.timezone)

    def change() -> None:
        sent = form.cleaned_data
        value, shown = payer_blocks.value_of(row, sent["kind"])
        entry = BlockEntry("block", sent["kind"], value, sent["reason"], sent["until"], shown)
        own_blocks.block(member.merchant, member.user, entry)
        messages.success(request, gettext("From now on we refuse payments of this payer."))

    shown = {"word": WORDS["block_payer"], "is_possible": form.is_possible}
    return _answer(request, member, form, change, **shown)


@page("POST")
def unblock_payer(request: HttpRequest, member: Member, payment: str) -> HttpResponse:
    """Ask why, and take the merchant's own blocks of a payment's payer away.

    :raises Http404: there is none, and the form did not take one away.
    """
    row = find(member, payment)
    form = _ReasonForm(acts.sent(request), row)
    own = [entry for entry in blocks(member, row) if not entry.is_operators()]
    if request.method != "POST" and not own:
        raise Http404

    def change() -> None:
        for entry in own:
            own_blocks.let_in(member.merchant, entry.pk, reason=form.cleaned_data["reason"])
        messages.success(request, gettext("Payments of this payer are taken again."))

    shown = {"word": gettext("Let the payer in"), "entries": own, "is_possible": True}
    return _answer(request, member, form, change, **shown)


def blocks(member: Member, row: PaymentIntent) -> list[ListEntry]:
    """Return the blocks of the merchant's account that hold now for a payment's payer."""
    last = row.attempts.order_by("created_at", "id").last()
    return own_blocks.current(member.merchant, payer_blocks.listed(row, last))


def _answer(
    request: HttpRequest,
    member: Member,
    form: _ReasonForm,
    change: Callable[[], None],
    **shown: Any,
) -> HttpResponse:
    row = form.payment
    done = address(member, row.id)
    answer = acts.done(
        request, form, lambda: once.act(request, member, change, subject=row.id, done=done)
    )
    shown |= {
        "payment": row,
        "why_not": "" if shown["is_possible"] else gettext("Neither card nor e-mail is known."),
    }
    name = "block_payer" if isinstance(form, BlockForm) else "unblock_payer"
    return answer or acts.ask(request, f"panel/payments/{name}.html", form, **shown)
