"""Filters of the lists of request logs (contract 2, Request log) and of the audit log."""

import re

from django_filters import ChoiceFilter

from core.context import ActorKind
from core.names import email_key
from core.rest.components import Choices
from core.rest.filters import EXACT, RANGE, Filters, Rows, TextFilter
from core.rest.lists import ListSpec
from merchants.audit_log import ACTIONS
from merchants.models import AuditEntry, RequestLog

ANY_ID = "{id}"
LOG_KIND = Choices(
    "RequestLogKind",
    {
        RequestLog.Kind.API: "A request with one of your API keys.",
        RequestLog.Kind.JOB: "A change that the service made in the background.",
        RequestLog.Kind.PANEL: "A change that a person made in the panel.",
    },
)
# Behind every other character, so that all texts of one beginning lie before it.
LAST = "\U0010ffff"


def _with_status(rows: Rows, _name: str, wanted: str) -> Rows:
    """`status=404`, or all of a class: `status=4xx`."""
    if wanted.endswith("xx"):
        least = int(wanted[0]) * 100
        return rows.filter(status__gte=least, status__lt=least + 100)
    return rows.filter(status=int(wanted))


def _with_path(rows: Rows, _name: str, wanted: str) -> Rows:
    """`path=/v1/balance`; `{id}` stands for any one part: `/v1/refunds/{id}`."""
    if ANY_ID not in wanted:
        return rows.filter(path=wanted)
    parts = wanted.split(ANY_ID)
    pattern = "[^/]+".join(re.escape(part) for part in parts)
    found = rows.filter(path__regex=f"^{pattern}$")
    # All that begin alike, as a range: an index of some paths is not used without.
    return found.filter(path__gte=parts[0], path__lt=parts[0] + LAST) if parts[0] else found


class RequestLogFilters(Filters):
    meanings = {
        "status": "The HTTP status of the answer, `404`, or all of a class, `4xx`.",
        "method": "The HTTP method, in capitals.",
        "path": "The path; `{id}` stands for any one part: `/v1/refunds/{id}`.",
        "object_id": "The id of the object that the request was about.",
        "api_key": "The id of the key that was sent, `key_…`.",
        "idempotency_key": "The `Idempotency-Key` that was sent.",
        "error_code": "The code that the request was refused with.",
        "kind": "Whether a program, a job or a person in the panel asked.",
    }
    choices = {"kind": LOG_KIND}

    status = TextFilter(
        form="[1-9][0-9]{2}|[1-5]xx",
        refused_by="Must be a status such as 404, or a class such as 4xx.",
        method=_with_status,
    )
    method = TextFilter(
        form="[A-Z]{1,16}", refused_by="Must be an HTTP method in capitals, such as POST."
    )
    path = TextFilter(method=_with_path)

    class Meta(Filters.Meta):
        model = RequestLog
        fields = {
            "status": EXACT,
            "method": EXACT,
            "path": EXACT,
            "object_id": EXACT,
            "created_at": RANGE,
            "api_key": EXACT,
            "idempotency_key": EXACT,
            "error_code": EXACT,
            "kind": EXACT,
        }


def _by_person(rows: Rows, _name: str, wanted: str) -> Rows:
    """`person=ada@shop.example`: changes by that person, or by an API key of that name.

    Merchants see all operators of the installation as one.
    """
    names = {wanted.strip(), email_key(wanted)}
    return rows.filter(actor__in=(ActorKind.USER, ActorKind.API_KEY), actor_name__in=names)


def _of_object(rows: Rows, _name: str, wanted: str) -> Rows:
    """`object=key_…`: changes of that object; `req_…`: those of that request."""
    text = wanted.strip()
    return rows.filter(**{"request_id" if text.startswith("req_") else "subject": text})


class AuditFilters(Filters):
    parameters = {**Filters.parameters, "actor_name": "person", "subject": "object"}

    action = ChoiceFilter(choices=lambda: [(name, name) for name in sorted(ACTIONS)])
    person = TextFilter(method=_by_person)
    object = TextFilter(method=_of_object)

    class Meta(Filters.Meta):
        model = AuditEntry
        fields = {"action": EXACT, "actor_name": EXACT, "subject": EXACT, "created_at": RANGE}


REQUEST_LOGS = ListSpec(filters=RequestLogFilters)
# A chain's own numbers, which have an index behind the chain's name.
AUDIT_LOG = ListSpec(filters=AuditFilters, sort_keys={"created": "sequence"})
