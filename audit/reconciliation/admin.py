from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from audit.reconciliation import differences
from audit.reconciliation.models import Difference, KeptLine
from cases import cases
from core.admin import ActingAdmin, ReadOnlyAdmin
from core.errors import DomainError
from core.operator_forms import WithReason


@admin.register(Difference)
class DifferenceAdmin(ActingAdmin):
    """The cases of reconciliation, the newest first; an operator closes one with a reason."""

    list_display = (
        "id", "kind", "type", "reference", "terminal", "merchant", "day", "opened_at", "closed_at",
    )  # fmt: skip
    list_filter = (("closed_at", admin.EmptyFieldListFilter), "kind", "type")
    list_select_related = ("merchant", "terminal")
    search_fields = ("=id", "=reference", "=merchant__id")
    show_full_result_count = False
    change_form_template = "admin/reconciliation/difference.html"

    def get_urls(self) -> list[URLPattern]:
        """Return the pages of Django's, behind that of our own act."""
        route, name = "<str:difference_id>/close/", "reconciliation_difference_close"
        return [self.act_path(route, self.close_page, cases.RESOLVE, name), *super().get_urls()]

    def close_page(self, request: Any, difference_id: str) -> HttpResponse:
        """Show both sides of a difference, and close it."""
        difference = self.get_object(request, difference_id)
        if difference is None:
            raise Http404
        form = WithReason(request.POST if request.method == "POST" else None)
        if form.is_valid() and self._closed(request, difference, form):
            changed = reverse("admin:reconciliation_difference_change", args=[difference.pk])
            return HttpResponseRedirect(changed)
        return self._page(request, difference, form)

    def _closed(self, request: Any, difference: Difference, form: WithReason) -> bool:
        """Do it; False with the refusal on the form."""
        try:
            differences.close(request.user, difference.pk, reason=form.cleaned_data["why"])
        except DomainError as refusal:
            form.add_error("why", str(refusal))
            return False
        self.message_user(request, f"{difference.pk} is closed.", messages.SUCCESS)
        return True

    def _page(self, request: HttpRequest, difference: Any, form: WithReason) -> HttpResponse:
        shown = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Close a difference",
            "difference": difference,
            "form": form,
        }
        status = 400 if form.errors else 200
        template = "admin/reconciliation/close.html"
        return TemplateResponse(request, template, shown, status=status)


@admin.register(KeptLine)
class KeptLineAdmin(ReadOnlyAdmin):
    """The lines of banks' files that the next reading compares again."""

    list_display = (
        "type", "reference", "day", "terminal_id", "merchant_id", "currency", "amount",
    )  # fmt: skip
    list_filter = ("type",)
    search_fields = ("=reference",)
    show_full_result_count = False
