"""Pages on which operators decide as the bank's people do; the book stays read-only otherwise.

They are views of their own: Django's admin wraps its own forms in a transaction, and decisions own
theirs (architecture 7).
"""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse

from core.admin import ActingAdmin
from testbank import decisions
from testbank.decisions import Undecidable


class Confirmation(forms.Form):
    """A decision that needs no further terms."""


class ComplaintForm(forms.Form):
    """The terms of a complaint that an operator opens."""

    reason = forms.ChoiceField(choices=[(one, one) for one in decisions.REASONS])
    amount = forms.IntegerField(
        min_value=1, required=False, help_text="In minor units; empty: all that is left."
    )


class DecidedAdmin(ActingAdmin):
    """A table to read, about whose rows the bank's people decide.

    :cvar decisions: by their names in `testbank.decisions`, with the form of their terms.
    """

    change_form_template = "admin/testbank/decided.html"
    decisions: ClassVar[dict[str, type[forms.Form]]] = {}

    def get_urls(self) -> list[URLPattern]:
        """Return Django's own pages behind those of the decisions."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_decide"
        route = "<path:object_id>/decide/<str:decision>/"
        permission = f"testbank.change_{self.opts.model_name}"
        return [self.act_path(route, self.decision_page, permission, name), *super().get_urls()]

    def decision_page(self, request: HttpRequest, object_id: str, decision: str) -> HttpResponse:
        """Ask for a decision's terms, and decide."""
        row = self.get_object(request, object_id)
        if row is None or decision not in self.decisions:
            raise Http404
        is_asked = request.method == "POST"
        form = self.decisions[decision](request.POST if is_asked else None)
        if form.is_valid() and self._decide(request, row, decision, form):
            back = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return HttpResponseRedirect(reverse(back, args=[row.pk]))
        return self._page(request, form, row, decision)

    def _decide(self, request: Any, row: Any, decision: str, form: forms.Form) -> bool:
        """Decide; False with the refusal on the form."""
        terms = {name: value for name, value in form.cleaned_data.items() if value}
        try:
            getattr(decisions, decision)(row.reference, **terms)
        except Undecidable as refusal:
            form.add_error(None, f"{refusal}.")
            return False
        said = " ".join([decision, *map(str, terms.values())])
        LogEntry.objects.log_actions(request.user.pk, [row], CHANGE, said, single_object=True)
        self.message_user(request, f"{said}: done.", messages.SUCCESS)
        return True

    def _page(
        self, request: HttpRequest, form: forms.Form, row: Any, decision: str
    ) -> HttpResponse:
        meaning = (getattr(decisions, decision).__doc__ or "").partition("\n")[0]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{decision.capitalize()} {row}",
            "meaning": meaning,
            "form": form,
        }
        status = 400 if form.errors else 200
        return TemplateResponse(request, "admin/testbank/decision.html", context, status=status)
