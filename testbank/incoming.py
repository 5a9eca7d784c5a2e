"""Transfers into the bank's book: those that the service expects, and others' (Topup: Sandbox).

The bank makes an expected transfer as its sender would, with the service's reference in its text.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from core import clock, ids
from testbank import transfer_notices
from testbank.models import IncomingMove, IncomingTransfer
from testbank.orders import ExpectedOrder
from testbank.router import BANK
from testbank.states import IncomingState, TransferNoticeKind

# How long until the bank takes one back, in the movable clock.
REVERSED_AFTER = timedelta(seconds=5)
FAILS, IS_REVERSED = "test_fail", "test_reverse"
COULD_NOT_PROCESS = "could_not_process"
PAGE = 100


@transaction.atomic(using=BANK, durable=True)
def expect(order: ExpectedOrder) -> None:
    """Make a transfer as its sender would; a repeated reference is the same transfer."""
    now = clock.now()
    IncomingTransfer.objects.get_or_create(
        expected_under=order.reference,
        defaults={
            "reference": _new_reference(),
            "merchant": order.merchant,
            "remittance": order.reference,
            "amount": order.amount,
            "currency": order.currency,
            "source": order.source,
            "state": IncomingState.PENDING,
            "created_at": now,
            "due_at": now,
        },
    )


@transaction.atomic(using=BANK, durable=True)
def receive(*, amount: int, currency: str, remittance: str, merchant: str = "") -> str:
    """Take a sender's transfer in; return the bank's name of it.

    :param amount: in minor units.
    :param remittance: the text that the sender wrote.
    """
    now = clock.now()
    transfer = IncomingTransfer.objects.create(
        reference=_new_reference(),
        merchant=merchant,
        remittance=remittance,
        amount=amount,
        currency=currency,
        state=IncomingState.PENDING,
        created_at=now,
    )
    _step(transfer, at=now)
    transfer.save()
    return transfer.reference


def take_back(transfer: IncomingTransfer, *, at: datetime) -> None:
    """Take a locked transfer that came back from the account; in the caller's transaction."""
    transfer.state, transfer.due_at = IncomingState.REVERSED, None
    transfer.save()
    _move(transfer, -transfer.amount, at)
    transfer_notices.tell(TransferNoticeKind.TRANSFER_REVERSED, transfer, at=at)


def locked(reference: str) -> IncomingTransfer | None:
    """Return a transfer in by the bank's name of it, up to date and locked."""
    row = IncomingTransfer.objects.select_for_update().filter(reference=reference).first()
    return _up_to_date(row) if row else None


def catch_up() -> None:
    """Do all that the bank should have done by itself until now, each in its own transaction."""
    due = IncomingTransfer.objects.filter(due_at__lte=clock.now()).order_by("due_at", "pk")
    for reference in list(due.values_list("reference", flat=True)):
        with transaction.atomic(using=BANK, durable=True):
            locked(reference)


def page(after: str) -> list[IncomingTransfer]:
    """Return the transfers in behind a name that came, each with what it `moved`, in order."""
    rows = IncomingTransfer.objects.filter(reference__gt=after)
    rows = rows.exclude(state__in=[IncomingState.PENDING, IncomingState.REFUSED])
    return list(rows.annotate(moved=_moved()).order_by("reference")[:PAGE])


def _moved() -> Coalesce:
    moves: QuerySet[Any] = IncomingMove.objects.filter(incoming=OuterRef("pk")).order_by()
    return Coalesce(Subquery(moves.values("incoming").values(sum=Sum("amount"))), 0)


def _up_to_date(transfer: IncomingTransfer) -> IncomingTransfer:
    now = clock.now()
    while transfer.due_at is not None and transfer.due_at <= now:
        _step(transfer, at=transfer.due_at)
        transfer.save()
    return transfer


def _step(transfer: IncomingTransfer, *, at: datetime) -> None:
    transfer.due_at = None
    if transfer.state == IncomingState.RECEIVED:
        take_back(transfer, at=at)
    elif transfer.source == FAILS:
        transfer.state, transfer.failure_code = IncomingState.REFUSED, COULD_NOT_PROCESS
        transfer_notices.tell(TransferNoticeKind.TRANSFER_REFUSED, transfer, at=at)
    else:
        transfer.state = IncomingState.RECEIVED
        _move(transfer, transfer.amount, at)
        transfer_notices.tell(TransferNoticeKind.TRANSFER_RECEIVED, transfer, at=at)
        transfer.due_at = at + REVERSED_AFTER if transfer.source == IS_REVERSED else None


def _move(transfer: IncomingTransfer, amount: int, at: datetime) -> None:
    IncomingMove.objects.create(incoming=transfer, amount=amount, created_at=at)


def _new_reference() -> str:
    """Return a name that no card number could be: a letter stands after every ten digits."""
    return "T" + ids.random_base62(9).upper() + "I" + ids.random_base62(9).upper()
