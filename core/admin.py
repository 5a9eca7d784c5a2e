import re
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db import DataError
from django.db.models import CharField, DateTimeField, IntegerField, JSONField, QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from core import acts
from core.errors import DomainError

_ALL_LOOKUPS = {
    name
    for kind in (CharField, DateTimeField, IntegerField, JSONField)
    for name in kind().get_lookups()
}
# Any value of these is a question that the database can be asked. `regex` and `year` have others.
_PLAIN_LOOKUPS = {"exact", "in", "isnull", "gt", "gte", "lt", "lte"}
_REFUSED_LOOKUPS = _ALL_LOOKUPS - _PLAIN_LOOKUPS
_FOUR_DIGITS = re.compile(r"\d{1,4}", re.ASCII)
LAST_YEAR = 9998  # A date hierarchy asks for the year after it, too.


class PlainLookups(ModelAdmin):
    """A table whose addresses and forms ask the database nothing that it cannot answer.

    By default an address may filter by any look-up, also by one that is an error or never ends.
    It may compare any column, too: a reader would find a hidden value by halves.
    """

    def get_ordering(self, request: HttpRequest) -> Any:
        return self.ordering or ("-pk",)

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        if self.date_hierarchy and lookup in _dates_of(self.date_hierarchy):
            return bool(_FOUR_DIGITS.fullmatch(value)) and int(value) <= LAST_YEAR
        column, *parts = lookup.split("__")
        if column not in self._shown_columns(request) or not _REFUSED_LOOKUPS.isdisjoint(parts):
            return False
        return super().lookup_allowed(lookup, value, request)

    def _shown_columns(self, request: HttpRequest) -> set[str]:
        filters = {one[0] if isinstance(one, tuple) else one for one in self.list_filter}
        roots = {one.split("__")[0] for one in filters if isinstance(one, str)}
        on_the_page = flatten_fieldsets(self.get_fieldsets(request))
        shown = {"pk", self.opts.pk.name, *roots, *self.list_display, *on_the_page}
        # A foreign key has two names.
        return shown | {one.attname for one in self.opts.concrete_fields if one.name in shown}

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except DataError:
            # A moment in a zone 20 hours from here, for one.
            raise Http404 from None

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        # An empty `_to_field` is a field's name to Django.
        return super().get_object(request, object_id, from_field or None)

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *rest: Any, **more: Any
    ) -> Any:
        try:
            for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
                self.model._meta.pk.to_python(chosen)
        except ValidationError:
            raise SuspiciousOperation from None
        return super().response_action(request, queryset, *rest, **more)


def _dates_of(field: str) -> list[str]:
    return [f"{field}__{unit}" for unit in ("year", "month", "day")]


class ReadOnly:
    """A table that operators can read but not edit: a ledger edited by hand would prove nothing."""

    def has_add_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False

    def has_change_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, PlainLookups):
    """A table to read."""


class ActingAdmin(ReadOnlyAdmin):
    """A table to read, whose acts have views of their own.

    Django wraps its own forms in a transaction, and use cases own theirs (architecture 7).
    """

    def act_path(self, route: str, view: acts.View, permission: str, name: str) -> URLPattern:
        """Return the address of an act, behind the door that all acts have."""
        return path(route, self.admin_site.admin_view(acts.act(permission)(view)), name=name)

    def find(self, request: HttpRequest, object_id: str) -> Any:
        """:raises Http404: there is no such row."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row

    def acted(self, request: HttpRequest, form: Form, act: Callable[[], Any]) -> Any:
        """Act; None with the refusal on the form."""
        try:
            done = act()
        except DomainError as refusal:
            form.add_error(refusal.param if refusal.param in form.fields else None, refusal.text)
            return None
        self.message_user(request, f"{done} is {done.status}.", messages.SUCCESS)
        return done

    def act_page(
        self, request: HttpRequest, form: Form, title: str, template: str = "admin/act.html"
    ) -> HttpResponse:
        """Show the form of an act."""
        context = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        status = 400 if form.errors else 200
        shown = {**context, "form": form}
        return TemplateResponse(request, template, shown, status=status)
