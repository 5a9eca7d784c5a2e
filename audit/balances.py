"""The check of balances: the API shows a merchant the sum of the merchant's ledger movements."""

from django.db.models import Sum

from audit.findings import Findings
from ledger import balance
from ledger.models import Account, Entry
from merchants.models import Merchant

SHOWN = (Account.Kind.PENDING, Account.Kind.AVAILABLE, Account.Kind.RESERVED)


def check() -> Findings:
    """Compare each balance that the API shows with the entries of the merchant's movements."""
    found = Findings("balances are their entries")
    for merchant in Merchant.objects.order_by("id").iterator():
        shown, booked = _shown(merchant), _booked(merchant)
        found.looked_at += len(shown)
        for place in sorted(shown.keys() | booked.keys()):
            if shown.get(place, 0) != booked.get(place, 0):
                kind, currency = place
                found.differences.append(
                    f"merchant {merchant.id} is shown {shown.get(place, 0)} {currency} {kind},"
                    f" its movements made it {booked.get(place, 0)}"
                )
    return found


def _shown(merchant: Merchant) -> dict[tuple[str, str], int]:
    body = balance.shown(merchant)
    return {(kind, row["currency"]): row["amount"] for kind in SHOWN for row in body[kind]}


def _booked(merchant: Merchant) -> dict[tuple[str, str], int]:
    entries = Entry.objects.filter(movement__merchant=merchant, account__kind__in=SHOWN)
    sums = entries.values_list("account__kind", "currency").annotate(total=Sum("amount"))
    return {(kind, currency): int(total) for kind, currency, total in sums}
