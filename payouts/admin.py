from typing import Any

from django.contrib import admin
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from core.admin import ActingAdmin
from payouts import operators
from payouts.creation import Wanted
from payouts.models import Payout
from payouts.operator_forms import CancelForm, MakeForm


@admin.register(Payout)
class PayoutAdmin(ActingAdmin):
    """Payouts, and when the bank is asked next; operators make them and call them off."""

    list_display = (
        "id", "merchant", "amount", "currency", "status", "destination", "arrival_at",
        "failure_code", "created_at",
    )  # fmt: skip
    list_filter = ("status", "failure_code", "currency")
    list_select_related = ("merchant",)
    search_fields = ("=id", "=acquirer_reference", "=trace_id")
    show_full_result_count = False
    exclude = ("iban",)
    change_list_template = "admin/payouts/list.html"
    change_form_template = "admin/payouts/payout.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind those of our own acts."""
        making, canceling = "payouts.add_payout", "payouts.change_payout"
        route, name = "<str:payout_id>/cancel/", "payouts_payout_cancel"
        return [
            self.act_path("make/", self.make_page, making, "payouts_payout_make"),
            self.act_path(route, self.cancel_page, canceling, name),
            *super().get_urls(),
        ]

    def make_page(self, request: Any) -> HttpResponse:
        """Make a payout for a merchant."""
        form = MakeForm(request.POST or None)
        if form.is_valid() and (made := self.acted(request, form, lambda: _make(request, form))):
            return _back_to(made.pk)
        return self.act_page(request, form, "Make a payout")

    def cancel_page(self, request: Any, payout_id: str) -> HttpResponse:
        """Call a pending payout off."""
        payout = self.find(request, payout_id)
        form = CancelForm(request.POST or None)
        if form.is_valid() and self.acted(request, form, lambda: _cancel(request, payout, form)):
            return _back_to(payout_id)
        return self.act_page(request, form, f"Cancel {payout}")


def _make(request: Any, form: MakeForm) -> Payout:
    typed = form.cleaned_data
    wanted = Wanted(typed["amount"], typed["currency"], typed["destination"] or None)
    return operators.create(
        request.user, typed["merchant"], wanted, payout_id=typed["act"], reason=typed["why"]
    )


def _cancel(request: Any, payout: Payout, form: CancelForm) -> Payout:
    return operators.cancel(request.user, payout, reason=form.cleaned_data["why"])


def _back_to(payout_id: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:payouts_payout_change", args=[payout_id]))
