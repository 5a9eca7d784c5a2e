"""The filters of the request logs as a form: the API's parameters, and days for instants."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from django import forms
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import clock, local_days
from core.errors import DomainError
from core.rest.list_query import CURSORS
from merchants.filters import REQUEST_LOGS
from merchants.models import RequestLog

# The bounds that the days become: both days are whole.
DAYS = {"created_from": "created[gte]", "created_to": "created[lt]"}
# Days that a calendar of ours may hold.
FIRST, LAST = date(2000, 1, 1), date(2999, 12, 31)
# An idempotency key may begin or end with a blank.
KEPT_AS_TYPED = "idempotency_key"
METHODS = ("GET", "POST", "DELETE")
KINDS: dict[str, str | Promise] = {
    RequestLog.Kind.API: _("Request to the API"),
    RequestLog.Kind.PANEL: _("Change in the panel"),
    RequestLog.Kind.JOB: _("Background work"),
}
TOO_LONG = _("This took too long. Narrow the time, and try again.")
NO_SUCH_PLACE = _("This place of the list is gone. Start again from the newest.")
# Of Any: the stubs of Django's forms name a kind of lazy text that it does not have.
WORDS: dict[str, Any] = {
    "status": _("Give a status, such as 404, or a class of them: 4xx or 5xx."),
    "kind": _("Choose one of the list."),
    "method": _("Choose one of the list."),
    "created_from": _("Give a day, such as 2026-11-23."),
    "created_to": _("Give a day, such as 2026-11-23."),
}
NOT_READ = _("Give one text of up to 500 characters.")


class Bound(NamedTuple):
    """A bound of the time that is no whole day: a parameter of the address, and its instant."""

    name: str
    value: str
    moment: datetime
    is_begin: bool


def _day(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": WORDS["created_from"]},
    )


def _text(label: Any, **attributes: str) -> forms.CharField:
    plain = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    return forms.CharField(
        label=label, required=False, widget=forms.TextInput(attrs={**plain, **attributes})
    )


class LogFilters(forms.Form):
    """The form above the list; the list's engine reads the address, and refuses."""

    use_required_attribute = False

    status = _text(_("Status"), placeholder="400, 4xx", inputmode="text")
    method = forms.CharField(label=_("Method"), required=False)
    path = _text(_("Path"), placeholder="/v1/payment_intents")
    created_from = _day(_("From"))
    created_to = _day(_("To"))
    error_code = _text(_("Error code"), placeholder="parameter_invalid")
    object_id = _text(_("Object"), placeholder="pi_…")
    api_key = _text(_("API key"), placeholder="key_…")
    idempotency_key = _text(_("Idempotency key"))
    kind = forms.CharField(label=_("Kind"), required=False)

    def __init__(self, query: QueryDict, *, zone: str) -> None:
        """:param zone: of the merchant, in which days begin."""
        self.zone = zone
        self.query = query
        super().__init__(self._shown())
        self.fields["method"].widget = _select(self.data["method"], {one: one for one in METHODS})
        self.fields["kind"].widget = _select(self.data["kind"], KINDS)

    @property
    def asked(self) -> QueryDict:
        """Return the address's own question in the API's terms, without what was left empty."""
        found = QueryDict(mutable=True)
        for name, values in self.query.lists():
            kept = [one if name == KEPT_AS_TYPED else one.strip() for one in values]
            if name.partition("[")[0] in REQUEST_LOGS.names and any(kept):
                found.setlist(name, kept)
        return found

    def in_the_apis_terms(self) -> QueryDict | None:
        """Return the question with instants for days; None if the address is so already."""
        asked = self.asked
        for name, bound in DAYS.items():
            if name in self.query:
                asked.pop(bound, None)
                if day := self.cleaned_data.get(name):
                    asked[bound] = str(self._instant(day, is_end=name == "created_to"))
        if any(name in self.query for name in DAYS):
            for cursor in CURSORS:
                asked.pop(cursor, None)
        typed = {name: self.query.getlist(name) for name in self.query}
        known = {name for name in typed if name.partition("[")[0] in REQUEST_LOGS.names}
        is_so = all(asked.getlist(name) == typed[name] for name in known)
        return None if is_so and not typed.keys() & DAYS.keys() else asked

    def clean_created_from(self) -> date | None:
        return self._within("created_from")

    def clean_created_to(self) -> date | None:
        day, begin = self._within("created_to"), self.cleaned_data.get("created_from")
        if day and begin and day < begin:
            raise forms.ValidationError(_("This day is before the first one."))
        return day

    def refuse(self, problem: DomainError) -> None:
        """Show a refusal of the engine at the input that it is about."""
        param = problem.param or ""
        name = param.partition("[")[0]
        if name == "created":
            name = "created_to" if "[lt" in param else "created_from"
        if name in self.fields:
            self.add_error(name, WORDS.get(name, NOT_READ))
        else:
            self.add_error(None, NO_SUCH_PLACE)

    @property
    def is_narrowed(self) -> bool:
        return any(self.data.values()) or any(self.bounds)

    @property
    def has_rare_ones(self) -> bool:
        """Return whether one of the filters that are folded away is used or refused."""
        return any(self.data[name] or name in self.errors for name in RARE)

    @property
    def common(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name not in RARE]

    @property
    def rare(self) -> list[forms.BoundField]:
        return [self[name] for name in RARE]

    @property
    def bounds(self) -> list[Bound]:
        """Return the bounds of the time that no day of the form shows."""
        return list(self._bounds())

    def _bounds(self) -> Iterator[Bound]:
        days = {bound for name, bound in DAYS.items() if self.data[name]}
        for name, values in self.query.lists():
            moment = _moment(values[-1]) if name.partition("[")[0] == "created" else None
            if moment and len(values) == 1 and name not in days:
                yield Bound(name, values[0], moment, is_begin="[lt" not in name)

    def _shown(self) -> dict[str, str]:
        shown = {name: self.query.get(name, "") for name in self.base_fields}
        for name, bound in DAYS.items():
            if name not in self.query:
                shown[name] = self._as_day(self.query.get(bound, ""), is_end=name == "created_to")
        return shown

    def _within(self, name: str) -> date | None:
        day: date | None = self.cleaned_data[name]
        if day and not FIRST <= day <= LAST:
            raise forms.ValidationError(WORDS[name])
        return day

    def _instant(self, day: date, *, is_end: bool) -> int:
        begins = day + timedelta(days=1) if is_end else day
        return clock.unix(local_days.begins(begins, self.zone))

    def _as_day(self, written: str, *, is_end: bool) -> str:
        """Return the day that begins, or has just ended, at an instant; nothing if none does."""
        moment = _moment(written)
        if moment is None:
            return ""
        begins = local_days.of(moment, self.zone)
        if self._instant(begins, is_end=False) != moment.timestamp():
            return ""
        return (begins - timedelta(days=1) if is_end else begins).isoformat()


# The filters that are folded away until one is used.
RARE = ("object_id", "api_key", "idempotency_key", "kind")


def _select(value: str, known: dict[str, Any]) -> forms.Select:
    # One that is not offered stands in the address, and is shown.
    other = {} if value in ("", *known) else {value: value}
    return forms.Select(choices=[("", _("Any")), *{**known, **other}.items()])


def _moment(written: str) -> datetime | None:
    is_number = written.isascii() and written.isdecimal() and len(written) <= 11
    return datetime.fromtimestamp(int(written), UTC) if is_number else None
