"""A restored copy opened by an operator, and the mail by which merchants hear of it."""

from datetime import datetime
from functools import partial

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from audit.reconciliation.models import Difference
from audit.restored import Comparison
from core import installation, money
from merchants import accounts, audit_log, notices
from merchants.models import AuditEntry, Merchant
from merchants.states import MerchantStatus

TOO_HIGH = "A payout or a refund was lost in the restore: the balance is too high."
OPENED = "installation.opened"
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
    opened = AuditEntry.objects.filter(action=OPENED).order_by("-sequence").first()
    if opened is None:
        return None
    copy_is_of, held_at = (_instant(opened.after[name]) for name in ("copy_is_of", "held_at"))
    merchants = Merchant.objects.exclude(status=MerchantStatus.CLOSED).order_by("id")
    for merchant in merchants:
        lost = Difference.objects.filter(
            merchant=merchant, bank__undated=True, closed_at=None, opened_at__gte=held_at
        )
        facts = {
            "copy_is_of": copy_is_of, "held_at": held_at, "panel": settings.PANEL_URL,
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
