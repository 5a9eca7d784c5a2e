"""A merchant's accounts in one currency: they come into being together, and one locks them all."""

from django.db import transaction

from core import rows
from ledger.models import Account
from ledger.models.accounts import account_id

LOCKED_BY_ID = "id = %(id)s::text FOR NO KEY UPDATE"
# Accounts seen by this process; they are never deleted.
_known: set[tuple[str, str]] = set()


def ensure(merchant_id: str, currency: str) -> None:
    """Open the accounts of a currency if they are not there; in a transaction of its own.

    A use case calls this before its first transaction. Opened by the transaction that moves the
    money, they would make the second charge of a new currency wait for the end of the first.
    """
    if (merchant_id, currency) in _known:
        return
    with transaction.atomic(durable=True):
        Account.objects.bulk_create(
            (_account(merchant_id, currency, kind) for kind in Account.Kind.values),
            ignore_conflicts=True,
        )
    _known.add((merchant_id, currency))


def lock(merchant_id: str, currency: str) -> None:
    """Lock the merchant's money of a currency until the transaction ends (contract-money, To 6).

    The last lock of a use case, before the counters of events. Whatever takes from the merchant
    holds it, and settlement; charges, and what only gives, do not. It lets foreign keys be checked:
    a charge does not wait for it.

    :raises Account.DoesNotExist: the accounts were not opened.
    """
    account = account_id(merchant_id, currency, Account.Kind.AVAILABLE)
    if rows.find(Account, LOCKED_BY_ID, id=account) is None:
        raise Account.DoesNotExist(account)


def _account(merchant_id: str, currency: str, kind: str) -> Account:
    key = account_id(merchant_id, currency, kind)
    return Account(id=key, merchant_id=merchant_id, currency=currency, kind=kind)
