"""Transfers out of the bank's book, and the notices of them (contract-money, Payout: Sandbox).

An account's name says how transfers to it go on: every name that is not listed is paid.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from core import clock, ids
from testbank import transfer_notices
from testbank.models import Transfer, TransferMove
from testbank.orders import NAME, TransferOrder
from testbank.router import BANK
from testbank.states import TransferNoticeKind, TransferState

# How long a transfer takes, in the movable clock, and how long until a paid one comes back.
PAID_AFTER, RETURNED_AFTER = timedelta(seconds=2), timedelta(seconds=2)
PAGE = 100
TRACE_CHARACTERS = 12
FAILURES = (
    "account_closed", "no_account", "incorrect_account_holder_name", "bank_account_restricted",
    "declined", "could_not_process",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manner:
    """The way in which transfers to one account go on.

    :param failure_code: the reason for which they fail or come back; empty if they do neither.
    :param is_paid: the money arrives at first.
    :param is_silent: the bank answers no transfer and sends no notice; it answers inquiries.
    """

    failure_code: str = ""
    is_paid: bool = True
    is_silent: bool = False


MANNERS = {
    **{f"test_{code}": Manner(code, is_paid=False) for code in FAILURES},
    "test_bounced": Manner("account_closed"),
    "test_silent": Manner(is_silent=True),
}


def manner_of(transfer: Transfer) -> Manner:
    """Return how the transfer goes on."""
    return MANNERS.get(transfer.destination, Manner())


@transaction.atomic(using=BANK, durable=True)
def send(order: TransferOrder) -> Transfer:
    """Transfer once per reference; a reference asked again gets what has become of the first."""
    now = clock.now()
    row, _is_new = Transfer.objects.get_or_create(
        reference=order.reference,
        defaults={
            "merchant": order.merchant,
            "destination": order.destination,
            "amount": order.amount,
            "currency": order.currency,
            "state": TransferState.PENDING,
            "trace_id": ids.random_base62(TRACE_CHARACTERS).upper(),
            "created_at": now,
            "due_at": now + PAID_AFTER,
        },
    )
    return _up_to_date(Transfer.objects.select_for_update().get(pk=row.pk))


@transaction.atomic(using=BANK, durable=True)
def look_up(reference: str) -> Transfer | None:
    """Return what the book says of a transfer, None if the bank never heard of it."""
    return _locked(reference) if NAME.fullmatch(reference) else None


def catch_up() -> None:
    """Do all that the bank should have done by itself until now, each in its own transaction."""
    due = Transfer.objects.filter(due_at__lte=clock.now()).order_by("due_at", "pk")
    for reference in list(due.values_list("reference", flat=True)):
        look_up(reference)


def arrived_at(transfer: Transfer) -> datetime | None:
    """Return when the money came to the account, also if it went back since; None if it did not."""
    arrived = transfer.moves.filter(amount__gt=0).first()
    return arrived.created_at if arrived else None


def page(after: str) -> list[Transfer]:
    """Return the transfers behind a reference, each with what it `moved`, in their order."""
    # Summed for the rows of the page alone: a join would sum all that are behind it.
    moves: QuerySet[Any] = TransferMove.objects.filter(transfer=OuterRef("pk")).order_by()
    moved = Coalesce(Subquery(moves.values("transfer").values(sum=Sum("amount"))), 0)
    rows = Transfer.objects.filter(reference__gt=after).order_by("reference")
    return list(rows.annotate(moved=moved)[:PAGE])


def _locked(reference: str) -> Transfer | None:
    row = Transfer.objects.select_for_update().filter(reference=reference).first()
    return _up_to_date(row) if row else None


def _up_to_date(transfer: Transfer) -> Transfer:
    """Do what is due of a transfer: after a jump of the clock that may be several steps."""
    now = clock.now()
    while transfer.due_at is not None and transfer.due_at <= now:
        _step(transfer, at=transfer.due_at)
        transfer.save()
    return transfer


def _step(transfer: Transfer, *, at: datetime) -> None:
    manner = manner_of(transfer)
    transfer.due_at = None
    if transfer.state == TransferState.PAID:
        _end(transfer, TransferState.RETURNED, manner.failure_code)
        _move(transfer, -transfer.amount, TransferNoticeKind.TRANSFER_RETURNED, at)
    elif manner.is_paid:
        _end(transfer, TransferState.PAID)
        _move(transfer, transfer.amount, TransferNoticeKind.TRANSFER_PAID, at)
        transfer.due_at = at + RETURNED_AFTER if manner.failure_code else None
    else:
        _end(transfer, TransferState.FAILED, manner.failure_code)
        _tell(transfer, TransferNoticeKind.TRANSFER_FAILED, at)


def _end(transfer: Transfer, state: TransferState, failure_code: str = "") -> None:
    transfer.state, transfer.failure_code = state, failure_code


def _move(transfer: Transfer, amount: int, kind: TransferNoticeKind, at: datetime) -> None:
    TransferMove.objects.create(transfer=transfer, amount=amount, created_at=at)
    _tell(transfer, kind, at)


def _tell(transfer: Transfer, kind: TransferNoticeKind, at: datetime) -> None:
    if not manner_of(transfer).is_silent:
        transfer_notices.tell(kind, transfer, at=at)
