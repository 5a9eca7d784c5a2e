"""The terms of a sale, as they are at its capture: price, schedule and calendar.

One statement for all of them, because every payment asks it.
"""

from datetime import date
from typing import NamedTuple

from core import prepared
from ledger import calendar, pricing
from ledger.calendar import Calendar
from ledger.pricing import FREE, Fee, Sale

# Of several prices the most specific counts: for card type and installments, for installments, for
# the card type, for neither. Without a schedule the defaults of its model count.
FIND = """
SELECT price.bps, price.fixed, price.returns_fee,
    coalesce(schedule.delay_days, 1::smallint), coalesce(schedule.installments = 'monthly', false),
    merchant.country,
    ARRAY(SELECT date FROM ledger_holidaychange WHERE country = merchant.country
          AND is_holiday AND date >= %(captured_on)s::date),
    ARRAY(SELECT date FROM ledger_holidaychange WHERE country = merchant.country
          AND NOT is_holiday AND date >= %(captured_on)s::date)
FROM merchants_merchant merchant
LEFT JOIN merchants_payoutschedule schedule ON schedule.merchant_id = merchant.id
LEFT JOIN LATERAL (
    SELECT bps, fixed, returns_fee FROM ledger_price
    WHERE merchant_id = merchant.id AND currency = %(currency)s::text
      AND coalesce(card_type = %(card_type)s::text, true)
      AND coalesce(installments = %(installments)s::smallint, true)
    ORDER BY installments IS NULL, card_type IS NULL LIMIT 1
) price ON true
WHERE merchant.id = %(merchant)s::text
"""


class SaleTerms(NamedTuple):
    """The terms of one sale.

    :param fee: in minor units.
    :param delay_days: business days from the capture to the money.
    :param parts: into how many monthly parts the money is divided; 1: it comes whole.
    """

    fee: Fee
    delay_days: int
    parts: int
    calendar: Calendar

    def value_dates(self, captured_on: date) -> list[date]:
        """Return the dates of the sale's parts.

        :param captured_on: in the merchant's timezone.
        """
        return calendar.value_dates(
            captured_on, calendar=self.calendar, delay_days=self.delay_days, parts=self.parts
        )


def of(merchant_id: str, sale: Sale, *, captured_on: date) -> SaleTerms:
    """Return the terms of a sale, with what operators have changed in the calendar from its date.

    :param captured_on: in the merchant's timezone.
    """
    asked = sale._asdict() | {"merchant": merchant_id, "captured_on": captured_on}
    [(bps, fixed, is_returned, delay, is_monthly, country, added, removed)] = prepared.rows(
        FIND, asked
    )
    return SaleTerms(
        fee=FREE if bps is None else pricing.fee(sale, bps, fixed, is_returned=is_returned),
        delay_days=delay,
        parts=sale.installments if is_monthly else 1,
        calendar=Calendar(country, frozenset(added), frozenset(removed)),
    )
