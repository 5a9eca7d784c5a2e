"""Whether an attempt's payer must authenticate, decided as the attempt opens (contract 10)."""

from datetime import date
from typing import NamedTuple

from core.errors import ParameterMissing
from payments.charging.terms import Terms
from payments.intents import non_secure
from payments.intents.models import PaymentIntent
from payments.risk.verdicts import Verdict


class Demand(NamedTuple):
    """The columns of an attempt that say whether 3-D Secure is demanded.

    :param non_secure_day: the day whose limit has counted the attempt, if one has.
    """

    authentication_demanded: bool
    non_secure_day: date | None = None


def of(intent: PaymentIntent, terms: Terms, amount: int, verdict: Verdict) -> Demand:
    """Return the demand, now that the payment is locked, in the transaction of its attempt.

    :param amount: minor units, surcharge included.
    :raises NonSecureNotAllowed: the merchant asked for no 3-D Secure, and its limits forbid that.
    :raises ParameterMissing: the payer must authenticate, and no return URL is known.
    """
    if terms.authentication_demanded or verdict.is_blocked:
        return Demand(terms.authentication_demanded)
    if verdict.demands_authentication:
        return _with_way_back(terms)
    allowed = non_secure.allow(intent.merchant, amount=amount, currency=intent.currency)
    if allowed:
        return Demand(False, allowed.day)
    if terms.requested == "none":
        raise non_secure.NonSecureNotAllowed
    return _with_way_back(terms)


def _with_way_back(terms: Terms) -> Demand:
    if not terms.return_url:
        raise ParameterMissing(param="return_url")
    return Demand(True)
