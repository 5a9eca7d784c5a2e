"""Parts of a charge that come back to the merchant: a refund failed, a dispute is won."""

from datetime import datetime

from ledger import accounts, balance, charges
from ledger.book import journal
from ledger.lines import Line
from ledger.models import Account, Movement


def come_back(last: Movement, kind: Movement.Kind, *, now: datetime) -> Movement:
    """Write the opposite of a part that went back: the money is where it was.

    What it leaves of its share of the surcharge to others is the merchant's: they took that from
    the merchant. If it leaves more than it took, the merchant gets that much less.

    :param last: the part's last movement; the caller has locked its payment.
    """
    movement = journal.undone(last, kind, now=now)
    left = charges.surcharge_left(last)
    if not left:
        return journal.write(movement, journal.undoing(last))
    accounts.lock(last.merchant_id, last.currency)
    funds = balance.funds(last.merchant_id, last.currency)
    movement.surcharge -= left
    taken = [Line(Account.Kind.AVAILABLE, -left), Line(Account.Kind.SURCHARGE, left)]
    return journal.take(movement, journal.undoing(last, but=taken), funds)
