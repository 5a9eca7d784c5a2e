from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from core.admin import ActingAdmin
from payouts.topups import operators
from payouts.topups.creation import Wanted
from payouts.topups.models import IncomingTransfer, Topup
from payouts.topups.operator_forms import AssignForm, CancelForm, MakeForm, SendBackForm
from payouts.topups.states import Initiator


@admin.register(Topup)
class TopupAdmin(ActingAdmin):
    """Topups; operators make them for merchants, and call them off."""

    list_display = (
        "id", "merchant", "amount", "currency", "status", "initiated_by", "reference",
        "expected_at", "failure_code", "created_at",
    )  # fmt: skip
    list_filter = ("status", "initiated_by", "currency")
    list_select_related = ("merchant",)
    search_fields = ("=id", "=reference")
    show_full_result_count = False
    change_list_template = "admin/topups/list.html"
    change_form_template = "admin/topups/topup.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind those of our own acts."""
        making, canceling = "topups.add_topup", "topups.change_topup"
        route, name = "<str:topup_id>/cancel/", "topups_topup_cancel"
        return [
            self.act_path("make/", self.make_page, making, "topups_topup_make"),
            self.act_path(route, self.cancel_page, canceling, name),
            *super().get_urls(),
        ]

    def make_page(self, request: Any) -> HttpResponse:
        """Make a topup for a merchant."""
        form = MakeForm(request.POST or None)
        if form.is_valid() and (made := self.acted(request, form, lambda: _make(request, form))):
            return _back_to(made.pk)
        return self.act_page(request, form, "Make a topup")

    def cancel_page(self, request: Any, topup_id: str) -> HttpResponse:
        """Call a pending topup off."""
        topup = self.find(request, topup_id)
        form = CancelForm(request.POST or None)
        if form.is_valid() and self.acted(request, form, lambda: _cancel(request, topup, form)):
            return _back_to(topup_id)
        return self.act_page(request, form, f"Cancel {topup}")


@admin.register(IncomingTransfer)
class IncomingTransferAdmin(ActingAdmin):
    """Transfers that came in; an operator decides about those that match nothing."""

    list_display = (
        "reference", "status", "amount", "currency", "remittance", "merchant", "topup",
        "decided_by", "arrived_at",
    )  # fmt: skip
    list_filter = ("status", "currency")
    list_select_related = ("merchant", "topup", "decided_by")
    search_fields = ("=reference", "=topup__id")
    show_full_result_count = False
    change_form_template = "admin/topups/transfer.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind those of our own acts."""
        return [
            self._deciding("assign", self.assign_page),
            self._deciding("send_back", self.send_back_page),
            *super().get_urls(),
        ]

    def _deciding(self, act: str, page: Callable[..., HttpResponse]) -> URLPattern:
        route, name = f"<int:pk>/{act}/", f"topups_incomingtransfer_{act}"
        return self.act_path(route, page, "topups.decide_transfer", name)

    def assign_page(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Assign a transfer to a topup or a merchant."""
        return self._act(request, pk, AssignForm, operators.assign, "Assign")

    def send_back_page(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Note that a transfer went back."""
        return self._act(request, pk, SendBackForm, operators.send_back, "Note as sent back")

    def _act(
        self, request: Any, pk: int, form_class: type[Form], act: Callable[..., Any], title: str
    ) -> HttpResponse:
        transfer = self.find(request, str(pk))
        form = form_class(request.POST or None)
        if form.is_valid():
            terms = dict(form.cleaned_data)
            terms["reason"] = terms.pop("why")
            if self.acted(request, form, lambda: act(request.user, transfer, **terms)):
                back = reverse("admin:topups_incomingtransfer_change", args=[pk])
                return HttpResponseRedirect(back)
        return self.act_page(request, form, f"{title}: {transfer}")


def _make(request: Any, form: MakeForm) -> Topup:
    typed = form.cleaned_data
    wanted = Wanted(typed["amount"], typed["currency"], initiated_by=Initiator.OPERATOR)
    return operators.create(
        request.user, typed["merchant"], wanted, topup_id=typed["act"], reason=typed["why"]
    )


def _cancel(request: Any, topup: Topup, form: CancelForm) -> Topup:
    return operators.cancel(request.user, topup, reason=form.cleaned_data["why"])


def _back_to(topup_id: str) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:topups_topup_change", args=[topup_id]))
