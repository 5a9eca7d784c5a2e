from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from core.admin import ReadOnlyAdmin
from core.errors import DomainError
from payouts.topups import operators
from payouts.topups.models import IncomingTransfer, Topup
from payouts.topups.operator_forms import AssignForm, MakeForm, SendBackForm


class ActingAdmin(ReadOnlyAdmin):
    """A table to read, whose acts have views of their own (architecture 7)."""

    permission = ""

    def require(self, request: Any) -> None:
        """:raises PermissionDenied: the operator may not act here."""
        if not request.user.has_perm(self.permission):
            raise PermissionDenied

    def acted(self, request: HttpRequest, form: Form, act: Callable[[], Topup | Any]) -> Any:
        """Act; None with the refusal on the form."""
        try:
            done = act()
        except DomainError as refusal:
            form.add_error(refusal.param if refusal.param in form.fields else None, refusal.text)
            return None
        self.message_user(request, f"{done} is {done.status}.", messages.SUCCESS)
        return done

    def act_page(self, request: HttpRequest, form: Form, title: str) -> HttpResponse:
        """Show the form of an act."""
        context = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        status = 400 if form.errors else 200
        shown = {**context, "form": form}
        return TemplateResponse(request, "admin/act.html", shown, status=status)


@admin.register(Topup)
class TopupAdmin(ActingAdmin):
    """Topups; an operator makes them for merchants."""

    permission = "topups.add_topup"
    list_display = (
        "id", "merchant", "amount", "currency", "status", "initiated_by", "reference",
        "expected_at", "failure_code", "created_at",
    )  # fmt: skip
    list_filter = ("status", "initiated_by", "currency")
    list_select_related = ("merchant",)
    search_fields = ("=id", "=reference")
    show_full_result_count = False
    change_list_template = "admin/topups/list.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind that of our own act."""
        page = self.admin_site.admin_view(self.make_page)
        return [path("make/", page, name="topups_topup_make"), *super().get_urls()]

    def make_page(self, request: Any) -> HttpResponse:
        """Make a topup for a merchant."""
        self.require(request)
        form = MakeForm(request.POST or None)
        if form.is_valid() and (made := self.acted(request, form, lambda: _make(request, form))):
            return HttpResponseRedirect(reverse("admin:topups_topup_change", args=[made.pk]))
        return self.act_page(request, form, "Make a topup")


@admin.register(IncomingTransfer)
class IncomingTransferAdmin(ActingAdmin):
    """Transfers that came in; an operator decides about those that match nothing."""

    permission = "topups.decide_transfer"
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
        wrap = self.admin_site.admin_view
        return [
            path("<int:pk>/assign/", wrap(self.assign_page), name="topups_incomingtransfer_assign"),
            path(
                "<int:pk>/send_back/",
                wrap(self.send_back_page),
                name="topups_incomingtransfer_send_back",
            ),
            *super().get_urls(),
        ]

    def assign_page(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Assign a transfer to a topup or a merchant."""
        return self._act(request, pk, AssignForm, operators.assign, "Assign")

    def send_back_page(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Note that a transfer went back."""
        return self._act(request, pk, SendBackForm, operators.send_back, "Note as sent back")

    def _act(
        self, request: Any, pk: int, form_class: type[Form], act: Callable[..., Any], title: str
    ) -> HttpResponse:
        self.require(request)
        transfer = self.get_object(request, str(pk))
        if transfer is None:
            raise Http404
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
    return operators.create(
        request.user,
        typed["merchant"],
        amount=typed["amount"],
        currency=typed["currency"],
        reason=typed["why"],
    )
