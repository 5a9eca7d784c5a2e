"""The account that a payout goes to: one that an operator registered for the merchant."""

from dataclasses import dataclass

from django.conf import settings

from core.errors import ParameterMissing, ResourceMissing
from merchants.models import Merchant, PayoutAccount
from payouts.states import FailureCode

PARAM = "destination"
# Accounts that every merchant of a sandbox has, for what they do (contract-money, Payout).
OF_A_SANDBOX = {f"test_{code}" for code in FailureCode.values} | {"test_bounced", "test_silent"}


@dataclass(frozen=True, slots=True)
class Destination:
    """An account at a bank; of a sandbox's own the details are empty."""

    reference: str
    holder_name: str = ""
    iban: str = ""


def of(merchant: Merchant, reference: str | None) -> Destination:
    """Return the account of a reference, or the merchant's default one if none is given.

    :raises ResourceMissing: the merchant has none of that reference.
    :raises ParameterMissing: none is given, and none is registered.
    """
    if reference in OF_A_SANDBOX and not settings.LIVEMODE:
        return Destination(reference)
    own = PayoutAccount.objects.for_merchant(merchant)
    wanted = own.filter(is_default=True) if reference is None else own.filter(reference=reference)
    account = wanted.first()
    if account is not None:
        return Destination(account.reference, account.holder_name, account.iban)
    if reference is None:
        raise ParameterMissing(
            "No default account is registered for payouts.", param=PARAM, advice=_registering()
        )
    raise ResourceMissing("There is no account of this reference.", param=PARAM)


def masked(iban: str) -> str:
    """Return an account's number with its middle hidden; nothing for an account without one."""
    return f"{iban[:4]} •••• {iban[-4:]}" if iban else ""


def _registering() -> str:
    if settings.LIVEMODE:
        return "The operator of the service registers one."
    return "A sandbox pays out to its test accounts, such as test_bounced, too."
