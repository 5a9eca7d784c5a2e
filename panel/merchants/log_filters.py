"""The filters of the request logs as a form: the API's parameters, and days for instants."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core import local_days
from merchants.filters import REQUEST_LOGS
from merchants.models import RequestLog
from panel.merchants.filter_words import moment_of
from panel.merchants.list_forms import ANY, CHOOSE, AnyChoice, ListForm, text
from panel.merchants.listing import NO_SUCH_PLACE

# An idempotency key may begin or end with a blank.
KEPT_AS_TYPED = "idempotency_key"
METHODS = [(one, one) for one in ("GET", "POST", "DELETE")]
KINDS: dict[str, str | Promise] = {
    RequestLog.Kind.API: _("Request to the API"),
    RequestLog.Kind.PANEL: _("Change in the panel"),
    RequestLog.Kind.JOB: _("Background work"),
}
NOT_READ: Any = _("Give one text of up to 500 characters.")
TEXTS = ("path", "error_code", "object_id", "api_key", "idempotency_key")


class Bound(NamedTuple):
    """A bound of the time that is no whole day: a parameter of the address, and its instant."""

    name: str
    value: str
    moment: datetime
    is_begin: bool


class LogForm(ListForm):
    """The form above the request logs; blanks around a text are dropped."""

    spec = REQUEST_LOGS
    folded = ("object_id", "api_key", "idempotency_key", "kind")
    refused = {
        **dict.fromkeys(TEXTS, NOT_READ),
        "status": _("Give a status, such as 404, or a class of them: 4xx or 5xx."),
        "kind": CHOOSE,
        "method": CHOOSE,
    }
    unplaced = NO_SUCH_PLACE

    status = text(_("Status"), placeholder="400, 4xx", inputmode="text")
    method = AnyChoice(label=_("Method"), required=False)
    path = text(_("Path"), placeholder="/v1/payment_intents")
    error_code = text(_("Error code"), placeholder="parameter_invalid")
    object_id = text(_("Object"), placeholder="pi_…")
    api_key = text(_("API key"), placeholder="key_…")
    idempotency_key = text(_("Idempotency key"))
    kind = AnyChoice(label=_("Kind"), required=False)
    field_order = ("status", "method", "path", "created_from", "created_to")

    def __init__(self, query: QueryDict, *, zone: str, currency: str = "") -> None:
        self.typed = query
        super().__init__(_tidied(query), zone=zone, currency=currency)
        for name, known in (("method", METHODS), ("kind", [*KINDS.items()])):
            value = self.shown.get(name, "")
            # One that is not offered stands in the address, and is shown.
            other = [] if value in ("", *dict(known)) else [(value, value)]
            self.fields[name].choices = [ANY, *known, *other]  # type: ignore[attr-defined]

    @property
    def asked(self) -> QueryDict:
        """Return the list's own part of the address; how many rows there are is a part, too."""
        found = QueryDict(mutable=True)
        for name, values in self.given.lists():
            if name.partition("[")[0] in self.spec.names:
                found.setlist(name, values)
        return found

    def in_the_apis_terms(self) -> str | None:
        better = super().in_the_apis_terms()
        return self.given.urlencode() if better is None and self.given != self.typed else better

    def input_of(self, param: str) -> str:
        name = super().input_of(param)
        if name == "created":
            return "created_to" if "[lt" in param else "created_from"
        return name

    @property
    def is_narrowed(self) -> bool:
        return any(map(self.shown.get, self.fields)) or bool(self.bounds)

    @property
    def bounds(self) -> list[Bound]:
        """Return the bounds of the time that no day of the form shows."""
        return list(self._bounds())

    def _bounds(self) -> Iterator[Bound]:
        days = {bound for name, bound in self.human.items() if self.shown.get(name)}
        for name, values in self.given.lists():
            moment = moment_of(values[-1]) if name.partition("[")[0] == "created" else None
            if moment and len(values) == 1 and name not in days:
                yield Bound(name, values[0], moment, is_begin="[lt" not in name)

    def _day(self, written: str, *, bound: str) -> str:
        """Return the day that begins, or has just ended, at an instant; nothing if none does."""
        moment = moment_of(written)
        if (
            moment is None
            or local_days.begins(local_days.of(moment, self.zone), self.zone) != moment
        ):
            return ""
        return super()._day(written, bound=bound)


def _tidied(query: QueryDict) -> QueryDict:
    """Return an address without blanks around the list's texts, and without those left empty."""
    tidy = QueryDict(mutable=True)
    for name, values in query.lists():
        if name.partition("[")[0] in REQUEST_LOGS.names:
            values = values if name == KEPT_AS_TYPED else [one.strip() for one in values]
            if not any(values):
                continue
        tidy.setlist(name, values)
    return tidy
