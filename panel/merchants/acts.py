"""The page of an act: a form asks, acts once (303), and shows a refusal at its input (400)."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext

from core.detection import contains_card_number
from core.errors import DomainError
from core.secrets_in_text import holds_secret_key
from merchants.refusals import ChangeRefused
from panel import once, refusals
from panel.merchants.pages import show

# The button of a second page that leads back to the form (`two_pages`).
CHANGE = "change"
# Refusals that a form shows at its inputs: of the API's forms, and of the rooms below.
REFUSALS = (DomainError, ChangeRefused)


class Refusable(forms.Form):
    """A form whose last word the API's form or a room below has."""

    # By the code of a refusal, this form's own words for it.
    words: ClassVar[Mapping[str, Any]] = {}

    def refuse(self, problem: Exception) -> None:
        """Show a refusal at the input that it is about, else above the form."""
        field = self.input_of(getattr(problem, "param", None) or "")
        words = self.words.get(getattr(problem, "code", "")) or refusals.sentence(problem)
        self.add_error(field if field in self.fields else None, words)

    def input_of(self, param: str) -> str:
        """Return the name of the input for a parameter of the API, if there is one."""
        return param.partition("[")[0]


def sent(request: HttpRequest) -> QueryDict | None:
    """Return the fields of a form that was sent; None where a page is opened.

    A page repeats no card number and no secret key: with one of them there are no fields, and a
    message says so.
    """
    if request.method != "POST":
        return None
    for values in request.POST.lists():
        for value in map(str, values[1]):
            if contains_card_number(value) or holds_secret_key(value):
                messages.error(
                    request, gettext("There is a card number or a secret key in this form.")
                )
                return QueryDict()
    return request.POST


def done(request: HttpRequest, form: Any, act: Callable[[], HttpResponse]) -> HttpResponse | None:
    """Act, and return the answer; None if the form was not sent, or was refused and says why."""
    if request.method != "POST" or not form.is_valid():
        return None
    # With a card number in it a form comes here without its fields, and does nothing. A button has
    # none to begin with.
    if not form.data and (form.fields or request.POST):
        return None
    try:
        return act()
    except REFUSALS as problem:
        form.refuse(problem)
        return None


def ask(request: HttpRequest, template: str, form: forms.Form, **shown: Any) -> HttpResponse:
    """Answer the page with a form: as it was opened, or led back to, or refused."""
    facts = {"form": form, "token": once.token(request), **shown}
    is_refused = request.method == "POST" and CHANGE not in request.POST
    return show(request, template, facts, status=400 if is_refused else 200)
