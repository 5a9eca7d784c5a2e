"""The ledger's lines behind a cause, as contract-money's table of bookkeeping writes them."""

from datetime import timedelta

from django.db.models import Min, Sum

from core import clock
from ledger import settlement
from ledger.models import LedgerEntry, Movement, Price
from merchants.models import Merchant


def lines(cause_id: str, kind: str | None = None) -> dict[str, int]:
    """Return what the cause's movements have done to each kind of account, in minor units."""
    rows = LedgerEntry.objects.filter(movement__cause_id=cause_id)
    rows = rows.filter(movement__kind=kind) if kind else rows
    totals = rows.values_list("account__kind").annotate(total=Sum("amount"))
    return {account: int(total) for account, total in totals if total}


def movements(cause_id: str) -> list[str]:
    """Return the kinds of a cause's movements, oldest first: entries are numbered, ids are not."""
    rows = Movement.objects.filter(cause_id=cause_id).annotate(first=Min("entries"))
    return list(rows.order_by("first").values_list("kind", flat=True))


def charge_fees(merchant: Merchant) -> None:
    """Let the merchant pay what contract-money's examples are computed with: 250 bps and 25."""
    Price.objects.create(merchant=merchant, currency="try", bps=250, fixed=25, returns_fee=False)


def settle_everything(merchant: Merchant, days: int = 7) -> None:
    """Make available all that is pending, so many days later."""
    clock.advance(timedelta(days=days))
    run = settlement.settle(merchant, "try", on=clock.now().date())
    assert run is not None, "nothing was settled"
