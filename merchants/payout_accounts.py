"""Payout accounts registered and removed, by `accounts.change` alone."""

import re
from collections.abc import Mapping
from typing import Any

from core import clock
from core.detection import contains_card_number
from core.names import is_legible
from merchants.models import Merchant, PayoutAccount
from merchants.refusals import ChangeRefused

REFERENCE = re.compile(r"[A-Za-z0-9_-]{1,40}")
IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
FIELDS = {"reference", "holder_name", "iban"}


def shown(merchant: Merchant) -> list[dict[str, Any]]:
    """Return the accounts as operators and the audit log see them: of the IBAN its end alone."""
    return [
        {
            "reference": row.reference,
            "holder_name": row.holder_name,
            "iban_ends_with": row.iban[-4:],
            "is_default": row.is_default,
        }
        for row in merchant.payout_accounts.order_by("id")
    ]


def add(merchant: Merchant, account: Mapping[str, Any]) -> None:
    """Register an account; the first one of a merchant is its default.

    :param account: `reference`, `holder_name`, `iban`.
    :raises ChangeRefused: one of them has no valid form, or the reference is taken.
    """
    if set(account) != FIELDS or not all(isinstance(value, str) for value in account.values()):
        raise ChangeRefused("payout_accounts: a reference, a holder_name and an iban, as texts.")
    reference, iban = account["reference"], account["iban"].replace(" ", "").upper()
    if not REFERENCE.fullmatch(reference) or contains_card_number(reference):
        raise ChangeRefused("reference: 1 to 40 letters, digits, _ and -.")
    if not IBAN.fullmatch(iban) or not _checks(iban):
        raise ChangeRefused("iban: not a valid IBAN.")
    holder = account["holder_name"].strip()
    if not 1 <= len(holder) <= 200 or contains_card_number(holder):
        raise ChangeRefused("holder_name: 1 to 200 characters, and no card number.")
    if not is_legible(holder):
        raise ChangeRefused("holder_name: must be one line, with something to see in it.")
    own = merchant.payout_accounts
    if own.filter(reference=reference).exists():
        raise ChangeRefused("There is an account of this reference already.")
    PayoutAccount.objects.create(
        merchant=merchant,
        reference=reference,
        holder_name=holder,
        iban=iban,
        is_default=not own.filter(is_default=True).exists(),
        created_at=clock.now(),
    )


def remove(merchant: Merchant, reference: str) -> None:
    """Take an account away; payouts that were created to it before are still sent.

    The default one goes last: another is to be made the default one before, for no program may
    choose where money goes.

    :raises ChangeRefused: there is none of this reference, or it is the default one of several.
    """
    own = merchant.payout_accounts
    found = own.filter(reference=reference).first()
    if found is None:
        raise ChangeRefused("There is no account of this reference.")
    if found.is_default and own.exclude(pk=found.pk).exists():
        raise ChangeRefused("It is the default account: make another one the default one first.")
    found.delete()


def make_default(merchant: Merchant, reference: str) -> None:
    """Let payouts that name no account go to this one.

    :raises ChangeRefused: there is none of this reference.
    """
    own = merchant.payout_accounts
    if not own.filter(reference=reference).exists():
        raise ChangeRefused("There is no account of this reference.")
    own.exclude(reference=reference).update(is_default=False)
    own.filter(reference=reference).update(is_default=True)


def _checks(iban: str) -> bool:
    turned = iban[4:] + iban[:4]
    return int("".join(str(int(letter, 36)) for letter in turned)) % 97 == 1
