from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from core.admin import ActingAdmin, ReadOnly, ReadOnlyAdmin
from core.errors import SentBefore
from ledger import balance, book, calendar_changes, operators
from ledger.models import Account, Due, HolidayChange, LedgerEntry, Movement, Price, Run
from ledger.operator_forms import HolidayForm, WriteOffForm


class EntryInline(ReadOnly, admin.TabularInline):
    model = LedgerEntry
    exclude = ("merchant",)


@admin.register(Movement)
class MovementAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "cause_id", "merchant", "created_at")
    list_select_related = ("merchant",)
    search_fields = ("=cause_id",)
    inlines = (EntryInline,)


@admin.register(Account)
class AccountAdmin(ActingAdmin):
    """The pots of merchants; an operator writes off there what an `available` is below zero."""

    list_display = ("id", "merchant", "currency", "kind")
    list_filter = ("kind",)
    list_select_related = ("merchant",)
    search_fields = ("=id", "=merchant__id", "merchant__name")
    show_full_result_count = False
    change_form_template = "admin/ledger/account.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind that of our own act."""
        route, name = "<str:account_id>/write_off/", "ledger_account_write_off"
        page = self.act_path(route, self.write_off_page, "ledger.write_off", name)
        return [page, *super().get_urls()]

    def write_off_page(self, request: Any, account_id: str) -> HttpResponse:
        """Show what a merchant owes, and write it off, or a part of it."""
        account = self.get_object(request, account_id)
        if account is None or account.kind != Account.Kind.AVAILABLE:
            raise Http404
        form = WriteOffForm(account, request.POST if request.method == "POST" else None)
        if form.is_valid() and self._wrote_off(request, account, form):
            return HttpResponseRedirect(reverse("admin:ledger_account_change", args=[account.pk]))
        return self._page(request, account, form)

    def _wrote_off(self, request: Any, account: Account, form: WriteOffForm) -> bool:
        """Do it; False with the refusal on the form."""
        typed = form.cleaned_data
        terms = {"amount": typed["amount"], "act_id": typed["act"], "reason": typed["why"]}
        try:
            movement = operators.write_off(request.user, account, **terms)
        except book.NotOwed as refusal:
            form.add_error("amount", f"{refusal.owed} is owed, and no more is written off.")
            return False
        except SentBefore as refusal:
            form.add_error(None, refusal.text)
            return False
        said = f"{movement.amount} {movement.currency} was written off by {movement.id}."
        self.message_user(request, said, messages.SUCCESS)
        return True

    def _page(self, request: HttpRequest, account: Account, form: WriteOffForm) -> HttpResponse:
        shown = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Write off",
            "account": account,
            "funds": balance.funds(account.merchant_id, account.currency),
            "form": form,
        }
        status = 400 if form.errors else 200
        return TemplateResponse(request, "admin/ledger/write_off.html", shown, status=status)


@admin.register(Price)
class PriceAdmin(ReadOnlyAdmin):
    """The fees of merchants' charges; the most specific row counts."""

    list_display = (
        "merchant", "currency", "card_type", "installments", "bps", "fixed", "returns_fee",
    )  # fmt: skip
    list_filter = ("card_type", "returns_fee")
    list_select_related = ("merchant",)
    search_fields = ("=merchant__id", "merchant__name")
    show_full_result_count = False


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """The runs of settlement; the newest first."""

    list_display = ("id", "merchant", "currency", "date", "amount", "created_at")
    list_select_related = ("merchant",)
    ordering = ("-id",)
    search_fields = ("=id", "=merchant__id", "merchant__name")
    show_full_result_count = False


@admin.register(Due)
class DueAdmin(ReadOnlyAdmin):
    """The next date on which something of a merchant is settled, the earliest first."""

    list_display = ("merchant", "currency", "due_on", "settled_on")
    list_select_related = ("merchant",)
    ordering = ("due_on", "id")
    search_fields = ("=merchant__id", "merchant__name")
    show_full_result_count = False


@admin.register(HolidayChange)
class HolidayChangeAdmin(ActingAdmin):
    """The public holidays that operators added, and the dates that are none by them."""

    change_list_template = "admin/ledger/holidays.html"

    list_display = ("country", "date", "is_holiday", "reason", "created_at")
    list_filter = ("country", "is_holiday")
    ordering = ("-date", "country")
    show_full_result_count = False

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind that of our own act."""
        permission, name = "ledger.change_holidaychange", "ledger_holidaychange_set"
        return [self.act_path("set/", self.set_page, permission, name), *super().get_urls()]

    def set_page(self, request: Any) -> HttpResponse:
        """Say of a date whether it is a public holiday."""
        form = HolidayForm(request.POST or None)
        if form.is_valid():
            typed = form.cleaned_data
            row = calendar_changes.change(
                typed["country"], typed["date"],
                is_holiday=typed["is_holiday"], reason=typed["why"],
            )  # fmt: skip
            self.message_user(request, f"{row}.", messages.SUCCESS)
            return HttpResponseRedirect(reverse("admin:ledger_holidaychange_changelist"))
        return self.act_page(request, form, "Set a holiday")
