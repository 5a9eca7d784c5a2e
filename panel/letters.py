"""Letters of the notices about disputes, payouts and statements, each as the thing is now."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.dateformat import format as written_date
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from core import clock, local_days, money
from merchants import notices, owed_mails
from merchants.models import Merchant
from merchants.notices import Letter, MailKind
from panel.merchants.balance_words import FAILURES
from panel.merchants.dispute_words import REASONS
from panel.permissions import ROLES, Right
from payments.disputes.models import Dispute
from payments.disputes.states import ANSWERABLE, OPEN_INQUIRY
from payouts import destinations
from payouts.models import Payout
from payouts.statements.models import Statement
from payouts.states import PayoutStatus

# Written in the language of the mail's reader.
_amount = lazy(money.written, str)
_date = lazy(written_date, str)
DAY = timedelta(days=1)
MONTH_AFTER = timedelta(days=31)


def register() -> None:
    """Register the letters, and the roles that may see what they are about."""
    for kind in DISPUTES:
        owed_mails.register(kind, _of_dispute(kind))
    owed_mails.register(MailKind.PAYOUT_FAILED, payout_failed)
    owed_mails.register(MailKind.STATEMENT_READY, statement_ready)
    seen_by: dict[MailKind, frozenset[str]] = {
        **dict.fromkeys(DISPUTES, ROLES[Right.SEE]),
        MailKind.PAYOUT_FAILED: ROLES[Right.SEE_BALANCE],
        MailKind.STATEMENT_READY: ROLES[Right.SEE_BALANCE],
    }
    notices.SEEN_BY.update(seen_by)


DISPUTES: dict[MailKind, Any] = {
    MailKind.DISPUTE_OPENED: _("A payment of {amount} is disputed"),
    MailKind.DISPUTE_DUE_SOON: _("Less than 3 days to answer the dispute of {amount}"),
    MailKind.DISPUTE_DUE_TOMORROW: _("Less than 1 day to answer the dispute of {amount}"),
}


def _of_dispute(kind: MailKind) -> Callable[[Merchant, str], Letter | None]:
    return lambda merchant, dispute_id: dispute(merchant, dispute_id, kind)


def dispute(merchant: Merchant, dispute_id: str, kind: MailKind) -> Letter | None:
    """Return the letter about a dispute; None once it needs no answer, or takes none any more."""
    row = Dispute.objects.for_merchant(merchant).get(id=dispute_id)
    left = row.evidence_due_by - clock.now()
    # The letter of the last day says all that the one of three days would, unless it is silenced.
    is_followed = MailKind.DISPUTE_DUE_TOMORROW not in merchant.silenced_notices
    is_late = kind == MailKind.DISPUTE_DUE_SOON and left <= DAY and is_followed
    if row.status not in ANSWERABLE or left <= timedelta() or is_late:
        return None
    amount = _amount(row.amount, row.currency)
    until = local_days.shown(row.evidence_due_by, merchant.timezone)
    facts = {
        "has_draft": bool(row.evidence),
        "amount": amount,
        "reason": REASONS.get(row.reason, row.reason),
        "until": _date(until, "j F Y H:i"),
        "is_inquiry": row.status in OPEN_INQUIRY,
        "page": _page("dispute", merchant, row.id),
    }
    subject = format_lazy(DISPUTES[kind], amount=amount)
    return Letter(subject, "panel/mails/dispute.txt", facts)


def payout_failed(merchant: Merchant, payout_id: str) -> Letter | None:
    """Return the letter about a payout whose money did not stay on the account."""
    row = Payout.objects.for_merchant(merchant).get(id=payout_id)
    if row.status != PayoutStatus.FAILED:
        return None
    amount = _amount(row.amount, row.currency)
    facts = {
        "amount": amount,
        "account": destinations.masked(row.iban) or row.destination,
        "why": FAILURES.get(row.failure_code or ""),
        "page": _page("payout", merchant, row.id),
    }
    subject = format_lazy(_("A payout of {amount} failed"), amount=amount)
    return Letter(subject, "panel/mails/payout_failed.txt", facts)


def statement_ready(merchant: Merchant, statement_id: str) -> Letter | None:
    """Return the letter about a month's statement; None of an older month, or where it is empty."""
    row = Statement.objects.for_merchant(merchant).get(id=statement_id)
    this_month = local_days.of(clock.now(), merchant.timezone).replace(day=1)
    is_empty = not row.closing and not any(number for _kind, number, *_sums in row.lines)
    # A sandbox whose clock was moved over many months makes their statements at once.
    if is_empty or row.month + MONTH_AFTER < this_month:
        return None
    currency, month = row.currency.upper(), _date(row.month, "F Y")
    facts = {
        "month": month,
        "currency": currency,
        "opening": _amount(row.opening, row.currency),
        "closing": _amount(row.closing, row.currency),
        "page": _page("statement", merchant, f"{row.month:%Y-%m}-{row.currency}"),
    }
    subject = format_lazy(
        _("The statement of {month} in {currency} is ready"), month=month, currency=currency
    )
    return Letter(subject, "panel/mails/statement_ready.txt", facts)


def _page(name: str, merchant: Merchant, thing: str) -> str:
    path = reverse(f"panel:{name}", args=[merchant.id, thing])
    return f"{settings.PANEL_URL}{path}"
