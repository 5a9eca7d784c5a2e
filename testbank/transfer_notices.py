"""Notices of transfers, each in the transaction of its news, numbered without gaps."""

from datetime import datetime

from django.db import connections

from testbank.models import IncomingTransfer, Transfer, TransferNotice
from testbank.router import BANK
from testbank.states import TransferNoticeKind

PAGE = 100
# The row stays locked until the transaction ends, so that numbers come in the order of commits.
NEXT_NUMBER = """
    INSERT INTO testbank_transfernoticecounter (id, last) VALUES (1, 1)
    ON CONFLICT (id) DO UPDATE SET last = testbank_transfernoticecounter.last + 1
    RETURNING last
"""


def tell(kind: TransferNoticeKind, about: Transfer | IncomingTransfer, *, at: datetime) -> None:
    """Write the next notice down, in the caller's transaction.

    :param at: when it happened, which may be long before anybody looked.
    """
    with connections[BANK].cursor() as cursor:
        cursor.execute(NEXT_NUMBER)
        [number] = cursor.fetchone()
    TransferNotice.objects.create(
        number=number,
        kind=kind,
        transfer=about if isinstance(about, Transfer) else None,
        incoming=about if isinstance(about, IncomingTransfer) else None,
        failure_code=about.failure_code,
        created_at=at,
    )


def behind(number: int) -> list[TransferNotice]:
    """Return the next notices behind a number, in their order."""
    rows = TransferNotice.objects.filter(number__gt=number)
    return list(rows.select_related("transfer", "incoming").order_by("number")[:PAGE])
