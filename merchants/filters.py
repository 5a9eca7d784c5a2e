"""Filters of the lists of request logs (contract 2, Request log) and of the audit log."""

import re

from core.context import ActorKind
from core.names import email_key
from core.rest.filters import Equal, Filters, Instants, OneOf, Rows
from core.rest.lists import ListSpec
from merchants.audit_log import ACTIONS
from merchants.models import RequestLog

ANY_ID = "{id}"
# Behind every other character, so that all texts of one beginning lie before it.
LAST = "\U0010ffff"
CLASS = re.compile("([1-5])xx")


class Status(Equal):
    """`status=404`, or all of a class: `status=4xx`."""

    def narrowed(self, rows: Rows, wanted: str) -> Rows:
        if found := CLASS.fullmatch(wanted):
            least = int(found[1]) * 100
            return rows.filter(status__gte=least, status__lt=least + 100)
        return rows.filter(status=int(wanted))


class Path(Equal):
    """`path=/v1/balance`; `{id}` stands for any one part: `/v1/refunds/{id}`."""

    def narrowed(self, rows: Rows, wanted: str) -> Rows:
        if ANY_ID not in wanted:
            return super().narrowed(rows, wanted)
        parts = wanted.split(ANY_ID)
        pattern = "[^/]+".join(re.escape(part) for part in parts)
        found = rows.filter(path__regex=f"^{pattern}$")
        # All that begin alike, as a range: an index of some paths is not used without.
        return found.filter(path__gte=parts[0], path__lt=parts[0] + LAST) if parts[0] else found


class RequestLogFilters(Filters):
    status = Status("status", form="[1-9][0-9]{2}|[1-5]xx")
    method = Equal("method", form="[A-Z]{1,16}")
    path = Path("path")
    object_id = Equal("object_id")
    created = Instants("created_at")
    api_key = Equal("api_key")
    idempotency_key = Equal("idempotency_key")
    error_code = Equal("error_code")
    kind = OneOf("kind", RequestLog.Kind.values)


class Person(Equal):
    """`person=ada@shop.example`: changes by that person, or by an API key of that name.

    Merchants see all operators of the installation as one.
    """

    def narrowed(self, rows: Rows, wanted: str) -> Rows:
        names = {wanted.strip(), email_key(wanted)}
        return rows.filter(actor__in=(ActorKind.USER, ActorKind.API_KEY), actor_name__in=names)


class Object(Equal):
    """`object=key_…`: changes of that object; `req_…`: those of that request."""

    def narrowed(self, rows: Rows, wanted: str) -> Rows:
        text = wanted.strip()
        if text.startswith("req_"):
            return rows.filter(request_id=text)
        return rows.filter(subject=text)


class AuditFilters(Filters):
    action = OneOf("action", sorted(ACTIONS))
    person = Person("actor_name")
    object = Object("subject")
    created = Instants("created_at")


REQUEST_LOGS = ListSpec(filters=RequestLogFilters)
# A chain's own numbers, which have an index behind the chain's name.
AUDIT_LOG = ListSpec(filters=AuditFilters, sort_keys={"created": "sequence"})
