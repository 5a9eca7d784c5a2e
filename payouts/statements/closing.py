"""Closing months: a statement of each that is over, once nothing can be written for it any more.

A month is the merchant's own. Months that were skipped, because no worker ran or the sandbox's
clock was moved, get their statements in turn.
"""

from collections.abc import Iterator
from datetime import date, timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from core import clock, context, local_days
from core.one_by_one import alone
from ledger import boundary
from ledger.models import Account, Boundary, Movement
from ledger.models.accounts import account_id
from ledger.models.movements import IS_TRANSACTION
from merchants import owed_mails
from merchants.models import Merchant
from merchants.notices import MailKind
from payouts.statements import drafting
from payouts.statements.models import Statement

# So long after a month's end it is closed: an act takes its instant before its transaction, and no
# request or job lasts so long.
REST = timedelta(minutes=10)
# So long a look waits for transactions of other sessions.
PATIENCE_SECONDS = 5.0
ACCOUNTS_PER_CLAIM = 200

log = structlog.get_logger(__name__)


def close_due() -> int:
    """Make the statements of all months that are over; return how many it were.

    Each in a transaction of its own: safe to kill at any place, to run late, and to run twice at a
    time. While a transaction of before stays open, or the checkpoints are behind, it makes none.
    """
    due = _due()
    first = next(due, None)
    if first is None or not _is_written():
        return 0
    made = _close(first)
    for account in due:
        if context.remaining_seconds() <= 0:
            break
        made += _close(account)
    if made:
        log.info("statements_made", statements=made)
    return made


def _due() -> Iterator[Account]:
    """Go over the pots that lack the statement of a month that is over."""
    before = clock.now() - REST
    zones = Merchant.objects.order_by("timezone").values_list("timezone", flat=True).distinct()
    for zone in list(zones):
        this_month = local_days.of(before, zone).replace(day=1)
        rows, last = _lacking(zone, this_month).order_by("id"), ""
        while found := list(rows.filter(id__gt=last)[:ACCOUNTS_PER_CLAIM]):
            yield from found
            last = found[-1].id


def _lacking(zone: str, this_month: date) -> QuerySet[Account]:
    last_month = (this_month - timedelta(days=1)).replace(day=1)
    own = {"merchant": OuterRef("merchant"), "currency": OuterRef("currency")}
    begun = Movement.objects.filter(
        IS_TRANSACTION, **own, created_at__lt=local_days.begins(this_month, zone)
    )
    kept = Statement.objects.filter(**own, month__gte=last_month)
    rows = Account.objects.filter(kind=Account.Kind.AVAILABLE, merchant__timezone=zone)
    found: QuerySet[Account] = rows.filter(~Exists(kept)).filter(Exists(begun))
    return found.select_related("merchant")


def _is_written() -> bool:
    """Return whether the checkpoints have all that was written by sessions of before."""
    # The entries of those that the first look waits for may lie above it.
    boundary.find(patience_seconds=PATIENCE_SECONDS)
    edge = boundary.find(patience_seconds=PATIENCE_SECONDS)
    reached = Boundary.objects.values_list("reached", flat=True).first()
    return edge is not None and (reached or 0) >= edge


def _close(account: Account) -> int:
    """Make the statements of a pot, month after month; return how many it were."""
    made = 0
    with alone("statement_failed", merchant=account.merchant_id):
        while _close_next(account.merchant, account.currency):
            made += 1
    return made


@transaction.atomic(durable=True)
def _close_next(merchant: Merchant, currency: str) -> bool:
    if not _hold(merchant, currency):
        return False
    before = list(drafting.of_merchant(merchant, currency))
    month = drafting.next_month(merchant, currency, before[-1] if before else None)
    if month is None or clock.now() < drafting.ends(month, merchant) + REST:
        return False
    made = drafting.draft(merchant, currency, month, before)
    made.save(force_insert=True)
    owed_mails.owe(merchant, MailKind.STATEMENT_READY, made.id, due_at=clock.now())
    return True


def _hold(merchant: Merchant, currency: str) -> bool:
    """Lock a row of the pot that no use case locks; return False if another look has it."""
    rows = Account.objects.select_for_update(no_key=True, skip_locked=True)
    row = account_id(merchant.id, currency, Account.Kind.SURCHARGE)
    return rows.filter(id=row).first() is not None
