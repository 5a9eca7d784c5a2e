"""Limits of the money that a merchant may take without 3-D Secure (contract 10).

What a day has taken is counted on one row for a merchant and currency, in the transaction that
writes the attempt, and only where a limit per day is set. An attempt that ends unpaid is taken off
the day that counted it.
"""

from datetime import date, datetime
from typing import Any, NamedTuple

import orjson
from django.db.models import F, Sum

from core import clock, local_days, prepared
from core.errors import DomainError, Explained
from merchants.models import Merchant
from payments.intents.models import Attempt
from payments.intents.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT

CALLER = "non_secure_limits"  # Its name in `config.caller`.
# In the order of `Limit`.
OF_CALLER = """
    SELECT json_agg(json_build_array(own.currency, own.per_payment, own.per_day))::text
    FROM merchants_nonsecurelimit own WHERE own.merchant_id = merchants_merchant.id
"""
OF_MERCHANT = "merchant_id = %(merchant)s::text AND currency = %(currency)s::text"
# The row's day may be ahead of ours: its process passed midnight while this one waited for the
# row, or the merchant has moved west. Then the later day counts the attempt.
ADD = f"""
UPDATE intents_nonsecureday SET taken = taken + %(amount)s::bigint
WHERE {OF_MERCHANT} AND day >= %(day)s::date
    AND taken + %(amount)s::bigint <= %(most)s::bigint
RETURNING day, taken
"""  # noqa: S608
LIMITS = f"""
SELECT currency, per_payment, per_day FROM merchants_nonsecurelimit WHERE {OF_MERCHANT}
"""  # noqa: S608
IS_BEGUN = f"""
SELECT FROM intents_nonsecureday WHERE {OF_MERCHANT} AND day >= %(day)s::date
"""  # noqa: S608
BEGIN_DAY = """
INSERT INTO intents_nonsecureday AS counted (merchant_id, currency, day, taken, uncounted)
VALUES (%(merchant)s::text, %(currency)s::text, %(day)s::date, %(taken)s::bigint,
    %(taken)s::bigint)
ON CONFLICT (merchant_id, currency) DO UPDATE
SET day = EXCLUDED.day, taken = EXCLUDED.taken, uncounted = EXCLUDED.uncounted
WHERE counted.day < EXCLUDED.day
"""
TAKE_OFF = f"""
UPDATE intents_nonsecureday SET taken = taken - %(amount)s::bigint
WHERE {OF_MERCHANT} AND day = %(day)s::date
"""  # noqa: S608


# The days that this process has seen begun, by merchant and currency; forgotten when they are many.
BEGUN_MAX = 10_000
_begun: dict[tuple[str, str], date] = {}


class NonSecureNotAllowed(DomainError):
    explained = Explained(
        cause=(
            "`three_d_secure` is `none`, and your account may not take this payment without 3-D "
            "Secure: not at all, or not this amount."
        ),
        remedy=(
            "Send `automatic` with a `return_url`, so that the customer can authenticate. `GET "
            "/v1/merchant` shows your limits."
        ),
    )
    code = "non_secure_not_allowed"
    message = "The account may not take this payment without 3-D Secure."
    param = "payment_method_options[card][three_d_secure]"


class Allowed(NamedTuple):
    """A payment that fits the merchant's limits.

    :param day: the day that has counted it; the attempt keeps it. None without a limit per day.
    """

    day: date | None


class Limit(NamedTuple):
    """The limits of a currency, in minor units; None limits nothing."""

    currency: str
    per_payment: int | None
    per_day: int | None

    def holds(self, amount: int, *, of_day: int = 0) -> bool:
        """Return whether a payment fits, and its day with it."""
        is_within = self.per_payment is None or amount <= self.per_payment
        return is_within and (self.per_day is None or of_day <= self.per_day)


class _Counted(NamedTuple):
    """The day that a payment was added to, and all that the day has taken, in minor units."""

    day: date
    taken: int


def begin_day(merchant: Merchant, currency: str) -> None:
    """Begin the day of a limit per day, if it has none yet; in a transaction of its own.

    A use case calls this before its first transaction, so that what the day has taken before is
    added up once: under no lock, and also if the payment is then refused.
    """
    limit = _limit_of(merchant, currency) if merchant.non_secure_allowed else None
    if limit is None or limit.per_day is None:
        return
    today = _today(merchant)
    if _begun.get((merchant.id, currency)) == today:
        return
    if not prepared.rows(IS_BEGUN, _values(merchant.id, currency, today)):
        _begin(today, merchant, currency)
    if len(_begun) >= BEGUN_MAX:
        _begun.clear()
    _begun[merchant.id, currency] = today


def allow(merchant: Merchant, *, amount: int, currency: str) -> Allowed | None:
    """Count a payment in if it fits the merchant's limits, in the transaction that opens it.

    A limit per day locks its row, so that of two payments at once only one gets the rest. Then the
    limits are read again: they may have been lowered while the row was waited for.

    :param amount: minor units, surcharge included.
    :returns: None if it does not fit; nothing is counted then.
    """
    if not merchant.non_secure_allowed:
        return None
    limit = _limit_of(merchant, currency)
    if limit is None or not limit.holds(amount):
        return None
    if limit.per_day is None:
        return Allowed(None)
    counted = _counted_on(merchant, currency, amount=amount, most=limit.per_day)
    if counted is None:
        return None
    again = _limit_now(merchant, currency)
    if again is None or not again.holds(amount, of_day=counted.taken):
        _take_off(merchant.id, currency, counted.day, amount=amount)
        return None
    return Allowed(counted.day)


def why_not(merchant: Merchant, *, amount: int, currency: str) -> str:
    """Return the sentence that says why `allow` has refused an amount, in minor units."""
    if not merchant.non_secure_allowed:
        return "The account may take no payment without it."
    limit = _limit_of(merchant, currency)
    if limit is None:
        return f"The account has no limit in {currency}, so it takes none without it."
    if limit.per_payment is not None and amount > limit.per_payment:
        return (
            f"Without it a payment may have up to {limit.per_payment} {currency}, in minor units."
        )
    return "The account has reached what it may take without it in a day."


def take_off(attempt: Attempt) -> None:
    """Give back what an attempt took of its day's limit; when it ends unpaid, and so once."""
    if attempt.non_secure_day is None:
        return
    amount = attempt.amount + attempt.surcharge
    _take_off(attempt.merchant_id, attempt.currency, attempt.non_secure_day, amount=amount)


def _take_off(merchant_id: str, currency: str, day: date, *, amount: int) -> None:
    prepared.run(TAKE_OFF, {**_values(merchant_id, currency, day), "amount": str(amount)})


def _limit_of(merchant: Merchant, currency: str) -> Limit | None:
    """Return a currency's limits; without a statement if the merchant came with an API key."""
    if merchant.caller is not None:
        found: list[Any] = orjson.loads(merchant.caller[CALLER] or "[]")
    else:
        of_all = merchant.non_secure_limits.all()
        found = list(of_all.values_list("currency", "per_payment", "per_day"))
    limits = (Limit(*row) for row in found)
    return next((limit for limit in limits if limit.currency == currency), None)


def _limit_now(merchant: Merchant, currency: str) -> Limit | None:
    found = prepared.rows(LIMITS, {"merchant": merchant.id, "currency": currency})
    return Limit(*found[0]) if found else None


def _counted_on(merchant: Merchant, currency: str, *, amount: int, most: int) -> _Counted | None:
    """Add an amount to the day's; return the day, None if it does not fit."""
    today = _today(merchant)
    values = _values(merchant.id, currency, today)
    added = {**values, "amount": str(amount), "most": str(most)}
    if found := prepared.rows(ADD, added):
        return _Counted(*found[0])
    if prepared.rows(IS_BEGUN, values):
        return None
    _begin(today, merchant, currency)  # Midnight has passed since the request began.
    found = prepared.rows(ADD, added)
    return _Counted(*found[0]) if found else None


def _begin(today: date, merchant: Merchant, currency: str) -> None:
    taken = _taken_since(local_days.begins(today, merchant.timezone), merchant, currency)
    values = _values(merchant.id, currency, today)
    prepared.run(BEGIN_DAY, {**values, "taken": str(taken)})


def _today(merchant: Merchant) -> date:
    return local_days.of(clock.now(), merchant.timezone)


def _taken_since(midnight: datetime, merchant: Merchant, currency: str) -> int:
    """Return what the day has taken so far; asked once a day, for its limit may be new."""
    counted = Attempt.objects.for_merchant(merchant).filter(
        created_at__gte=midnight,
        currency=currency,
        authentication_demanded=False,
        non_secure_day=None,
        status__in=(*OPEN_ATTEMPT, *SUCCESSFUL_ATTEMPT),
    )
    return counted.aggregate(total=Sum(F("amount") + F("surcharge")))["total"] or 0


def _values(merchant_id: str, currency: str, day: date) -> dict[str, str]:
    return {"merchant": merchant_id, "currency": currency, "day": day.isoformat()}
