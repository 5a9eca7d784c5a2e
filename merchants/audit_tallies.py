"""Acts that could fill the audit log are counted by the minute: one row of it for each count.

Failed sign-ins would let a stranger fill the log, and readers of the log would fill it by reading.
A count is committed at once, by one statement; `write_due` makes rows of the minutes that are over.
"""

from datetime import datetime, timedelta

import structlog
from django.db import connection, transaction
from django.utils import timezone

from core import context
from core.one_by_one import alone
from core.scrub import scrub
from merchants import audit_log
from merchants.models import AuditTally, Merchant, User

log = structlog.get_logger(__name__)

MINUTE = timedelta(minutes=1)
READ, VERIFIED = "audit_log.read", "audit_log.verified"
# A row of the table proves nothing: of all other actions the service signs what itself has done.
COUNTED = ("sign_in.refused", "mfa.refused", READ, VERIFIED)
COUNT = """
INSERT INTO merchants_audittally AS known (
    minute, action, merchant_id, chain, subject, actor, actor_id, actor_name, address,
    request_id, count
) VALUES (
    date_trunc('minute', clock_timestamp()), %(action)s, %(merchant)s, %(chain)s,
    %(subject)s, %(actor)s, %(actor_id)s, %(actor_name)s, %(address)s, %(request_id)s, 1
)
ON CONFLICT ON CONSTRAINT one_tally_per_minute_action_object_and_actor
DO UPDATE SET count = known.count + 1
"""


def note_of_person(action: str, user: User | None) -> None:
    """Count a refusal at a person's account; all unknown names are one name.

    A name may be a password that was typed into the wrong field: it is kept nowhere.
    """
    _note(action, merchant=None, user=user, subject="unknown name")


def note_reading(action: str, merchant: Merchant | None = None) -> None:
    """Count a look into the audit log, or a verification of it.

    :param merchant: whose chain it was; None for all.
    """
    _note(action, merchant=merchant, user=None, subject="audit log")


def write_due(now: datetime | None = None) -> int:
    """Write a row for each count of a minute that is over; return how many were written.

    Each is a transaction of its own: two chains are never locked together. A row of an action that
    is not counted came past the service: it stays, for the person who reads the warning.
    """
    rows = AuditTally.objects.filter(minute__lte=(now or timezone.now()) - MINUTE)
    if strange := rows.exclude(action__in=COUNTED).count():
        log.warning("audit_tallies_not_ours", rows=strange)
    written = 0
    for pk in rows.filter(action__in=COUNTED).order_by("pk").values_list("pk", flat=True):
        with alone("audit_tally_not_written", tally=pk):
            written += _written(pk)
    return written


@transaction.atomic(durable=True)
def _written(pk: int) -> bool:
    found = AuditTally.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk=pk)
    tally = found.select_related("merchant").first()
    if tally is None:
        return False  # Another worker's.
    with context.work() as work:
        work.actor = context.Actor(
            context.ActorKind(tally.actor), tally.actor_id or None, tally.actor_name or None
        )
        work.address, work.request_id = tally.address or None, tally.request_id
        after = {"count": tally.count, "minute": tally.minute.isoformat()}
        if tally.chain == f"user:{tally.subject}":
            audit_log.record_of_number(tally.action, tally.subject, after)
        else:
            audit_log.record(
                tally.action, merchant=tally.merchant, subject=tally.subject, after=after
            )
    tally.delete()
    return True


def _note(action: str, *, merchant: Merchant | None, user: User | None, subject: str) -> None:
    if action not in COUNTED:
        raise ValueError(f"{action} is not counted")
    actor = context.actor()
    values = {
        "action": action,
        "merchant": merchant and merchant.pk,
        # Texts, so that a known and an unknown name are the same statement.
        "chain": f"user:{user.pk}" if user else "",
        "subject": str(user.pk) if user else subject,
        "actor": actor.kind.value,
        "actor_id": actor.id or "",
        "actor_name": scrub(actor.name or ""),
        "address": context.address() or "",
        "request_id": context.request_id(),
    }
    with connection.cursor() as cursor:
        cursor.execute(COUNT, values)
