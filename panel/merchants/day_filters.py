"""Days as filters of lists: whole ones of the merchant's zone, for the API's instants."""

from datetime import UTC, date, datetime, timedelta

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from core import clock, local_days
from core.rest.list_query import CURSORS
from panel.merchants.endpoint_forms import Refusable, as_refusal

# The bounds that the two days become: both days are whole.
BOUNDS = {"created_from": "created[gte]", "created_to": "created[lt]"}


def _day() -> forms.DateField:
    return forms.DateField(
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        input_formats=["%Y-%m-%d"],
    )


class DayFilters(Refusable):
    """The filters of a list, with the two days between which its rows lie."""

    created_from = _day()
    created_to = _day()

    def __init__(self, query: QueryDict, *, zone: str) -> None:
        """:param zone: of the merchant, in which days begin."""
        self.zone = zone
        super().__init__(self._with_days(query))
        self.fields["created_from"].label = _("From")
        self.fields["created_to"].label = _("To")

    def in_the_apis_terms(self, query: QueryDict) -> str:
        """Return the query with instants for days; nothing if no day was given."""
        if not any(query.get(name) for name in BOUNDS):
            return ""
        asked = query.copy()
        for name, bound in BOUNDS.items():
            asked.pop(name, None)
            asked.pop(bound, None)
            if day := self.cleaned_data[name]:
                asked[bound] = str(self._instant(day, is_end=name == "created_to"))
        for name in CURSORS:
            asked.pop(name, None)
        # Inputs that were left empty would only lengthen the address.
        for name in [name for name in asked if not any(asked.getlist(name))]:
            asked.pop(name)
        return asked.urlencode()

    def refuse(self, problem: Exception) -> None:
        """Show a refusal at the input that it is about: an instant's at its day."""
        told = as_refusal(problem)
        param = getattr(told, "param", None) or ""
        days = {bound: name for name, bound in BOUNDS.items()}
        if param in days:
            self.add_error(days[param], _("Give a day, such as 2026-11-23."))
        else:
            super().refuse(told)

    def _with_days(self, query: QueryDict) -> QueryDict:
        shown = query.copy()
        for name, bound in BOUNDS.items():
            if not shown.get(name) and (day := self._day(query.get(bound, ""), bound)):
                shown[name] = day.isoformat()
        return shown

    def _instant(self, day: date, *, is_end: bool) -> int:
        begins = day + timedelta(days=1) if is_end and day < date.max else day
        return clock.unix(local_days.begins(begins, self.zone))

    def _day(self, written: str, bound: str) -> date | None:
        """Return the day that an instant of the address stands for; None if it is none."""
        if not (written.isascii() and written.isdecimal() and len(written) < 12):
            return None
        try:
            moment = datetime.fromtimestamp(int(written), UTC)
            if bound.endswith("[lt]"):
                moment -= timedelta(seconds=1)
            return local_days.of(moment, self.zone)
        except (OverflowError, ValueError, OSError):
            return None
