from typing import Any

from django.contrib import admin, messages
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from core.admin import ActingAdmin, ReadOnly, ReadOnlyAdmin
from core.errors import DomainError
from payments.disputes import operators
from payments.disputes.models import Dispute, DisputeDelivery
from payments.disputes.operator_forms import DecideForm, OpenForm
from payments.disputes.operators import Beginning, DisputeDecision, Opening, Ruling
from payments.disputes.refusals import ClaimUnusable


class DeliveryInline(ReadOnly, admin.TabularInline):
    model = DisputeDelivery
    # Without the evidence, which the dispute shows.
    fields = readonly_fields = (
        "id", "kind", "number", "status", "answer", "created_at", "closed_at", "due_at",
        "inquiry_count",
    )  # fmt: skip


@admin.register(Dispute)
class DisputeAdmin(ActingAdmin):
    """Disputes, with what is owed to their banks; an operator opens and decides them here."""

    list_display = (
        "id", "merchant", "intent", "amount", "currency", "status", "reason", "evidence_due_by",
        "created_at",
    )  # fmt: skip
    list_filter = ("status", "reason")
    list_select_related = ("merchant", "intent")
    search_fields = ("=id", "=intent__id", "=bank_reference")
    show_full_result_count = False
    inlines = (DeliveryInline,)
    change_list_template = "admin/disputes/list.html"
    change_form_template = "admin/disputes/dispute.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind those of our own acts."""
        opening, deciding = "disputes.add_dispute", "disputes.change_dispute"
        route, name = "<str:dispute_id>/decide/", "disputes_dispute_decide"
        return [
            self.act_path("open/", self.open_page, opening, "disputes_dispute_open"),
            self.act_path(route, self.decide_page, deciding, name),
            *super().get_urls(),
        ]

    def open_page(self, request: HttpRequest) -> HttpResponse:
        """Open a dispute that the operator has heard of."""
        form = OpenForm(request.POST or None)
        if form.is_valid():
            opened = self._acted(request, form, lambda: self._open(request, form))
            if opened:
                return _to(opened)
        return self._page(request, form, "Open a dispute")

    def decide_page(self, request: HttpRequest, dispute_id: str) -> HttpResponse:
        """Decide a dispute as the bank would."""
        dispute = self.get_object(request, dispute_id)
        if dispute is None:
            raise Http404
        form = DecideForm(dispute, request.POST or None)
        if form.is_valid():
            decided = self._acted(request, form, lambda: self._decide(request, form))
            if decided:
                return _to(decided)
            form.show_status()
        return self._page(request, form, f"Decide {dispute.id}")

    def _open(self, request: Any, form: OpenForm) -> Dispute:
        typed = form.cleaned_data
        heard = Opening(
            typed["act"], Beginning(typed["beginning"]), form.claimed(), reason=typed["why"]
        )
        return operators.open_dispute(request.user, typed["payment"], heard)

    def _decide(self, request: Any, form: DecideForm) -> Dispute:
        typed = form.cleaned_data
        decision = DisputeDecision(typed["decision"])
        ruling = Ruling(decision, typed["seen"], typed["why"], form.terms())
        return operators.decide(request.user, form.dispute.id, ruling)

    def _acted(self, request: HttpRequest, form: Form, act: Any) -> Dispute | None:
        """Do it; None with the refusal on the form."""
        try:
            dispute: Dispute = act()
        except DomainError as refusal:
            form.add_error(None, refusal.text)
            return None
        except ClaimUnusable as refusal:
            form.add_error(None, f"It cannot be written down: {refusal}.")
            return None
        self.message_user(request, f"{dispute.id} is {dispute.status}.", messages.SUCCESS)
        return dispute

    def _page(self, request: HttpRequest, form: Form, title: str) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        status = 400 if form.errors else 200
        shown = {**context, "form": form}
        return TemplateResponse(request, "admin/act.html", shown, status=status)


@admin.register(DisputeDelivery)
class DisputeDeliveryAdmin(ReadOnlyAdmin):
    """Evidence and acceptances that banks are sent until they acknowledge."""

    list_display = (
        "id", "merchant", "dispute", "kind", "number", "status", "answer", "created_at",
        "closed_at", "due_at",
    )  # fmt: skip
    list_filter = ("status", "kind")
    list_select_related = ("merchant", "dispute")
    search_fields = ("=id", "=dispute__id")
    show_full_result_count = False


def _to(dispute: Dispute) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:disputes_dispute_change", args=[dispute.id]))
