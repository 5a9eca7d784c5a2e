"""A restored copy opened by an operator, and the mail by which merchants hear of it."""

from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from audit.reconciliation.models import Difference
from audit.restored import Comparison
from core import installation, marks, money
from core.models import Installation
from merchants import accounts, audit_log, notices
from merchants.models import AuditEntry, Merchant
from merchants.states import MerchantStatus

TOO_HIGH = "A payout or a refund was lost in the restore: the balance is too high."
OPENED = "installation.opened"
# In the audit row of a database that was moved on purpose.
NOTHING_LOST = "nothing_lost"
SUBJECT = _("Payments of a short time may be missing from our records")


@transaction.atomic(durable=True)
def open_installation(
    made: Comparison, *, copy_is_of: datetime | None, held_at: datetime, reason: str
) -> None:
    """Open a held copy for all that it does otherwise.

    Merchants whose balance is too high are not paid out, until an operator allows it again.

    :param made: the comparison with the banks that the operator has seen.
    :param copy_is_of: the moment of the copy, as far as it is known.
    :param held_at: when it was held.
    :param reason: the operator's, kept in the audit log.
    """
    for merchant in _merchants_with_a_balance_too_high():
        accounts.change(merchant, {"payouts_enabled": False}, reason=TOO_HIGH)
    installation.open_here()
    after = {
        "copy_is_of": copy_is_of and copy_is_of.isoformat(), "held_at": held_at.isoformat(),
        "looked_at": made.looked_at, "lost": len(made.lost),
        "adopted": len(made.adopted), "contradicted": len(made.contradicted),
    }  # fmt: skip
    audit_log.record(OPENED, merchant=None, subject="installation", after=after, reason=reason)


@transaction.atomic(durable=True)
def open_moved(*, held_at: datetime, reason: str) -> None:
    """Open a database that was moved on purpose, with nothing lost: no merchant hears of it.

    :raises ImproperlyConfigured: the mark that proves it cannot be spent.
    """
    installation.open_here(is_whole=True)
    marks.spend_last()
    after = {"held_at": held_at.isoformat(), NOTHING_LOST: True}
    audit_log.record(OPENED, merchant=None, subject="installation", after=after, reason=reason)


class Opening(NamedTuple):
    """A restored copy that was opened.

    :param copy_is_of: the moment of the copy, as far as it is known.
    :param held_at: when it was held: what was done between the two may be missing.
    """

    copy_is_of: datetime | None
    held_at: datetime


def openings() -> list[Opening]:
    """Return the restored copies that were opened here, the last one first."""
    if not Installation.objects.filter(opened_at__isnull=False).exists():
        return []  # The chain is long where nothing was ever restored, too.
    rows = AuditEntry.objects.filter(chain=audit_log.INSTALLATION, action=OPENED).exclude(
        after__has_key=NOTHING_LOST
    )
    return [
        Opening(_instant(row.after["copy_is_of"]), datetime.fromisoformat(row.after["held_at"]))
        for row in rows.order_by("-sequence")
    ]


def lost_of(merchant: Merchant) -> QuerySet[Difference]:
    """Return the bank's bookings of a merchant that a restored copy lacked."""
    rows = Difference.objects.filter(merchant=merchant, bank__undated=True)
    return rows.order_by("-opened_at", "type", "reference")


def _merchants_with_a_balance_too_high() -> QuerySet[Merchant]:
    """Return the merchants from whose balance money has left that the copy still has.

    A scheduled payout would pay it a second time.
    """
    lost = Difference.objects.filter(
        type__in=("transfer_out", "refund"), bank__undated=True, closed_at=None
    )
    rows = Merchant.objects.filter(pk__in=lost.values("merchant_id"), payouts_enabled=True)
    return rows.order_by("pk")


def tell_merchants() -> int | None:
    """Mail every merchant what the last opening cannot get back; return how many merchants.

    :returns: None if nothing was ever opened.
    """
    if not (opened := openings()):
        return None
    copy_is_of, held_at = opened[0]
    merchants = Merchant.objects.exclude(status=MerchantStatus.CLOSED).order_by("id")
    for merchant in merchants:
        lost = lost_of(merchant).filter(closed_at=None, opened_at__gte=held_at)
        facts = {
            "copy_is_of": copy_is_of, "held_at": held_at,
            "page": f"{settings.PANEL_URL}/panel/{merchant.id}/restores",
            "lost": [
                {"row": row, "amount": partial(_written, row)}
                for row in lost.order_by("type", "reference")
            ],
        }  # fmt: skip
        letter = notices.Letter(SUBJECT, "panel/mails/restored.txt", facts)
        notices.send(letter, notices.owners(merchant))
    return len(merchants)


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _written(row: Difference) -> str:
    """Return the amount in the reader's language: the template calls it."""
    return money.written(row.bank["amount"], row.bank["currency"])
