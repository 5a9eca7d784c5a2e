"""The payments that lists are read from, as lines for COPY.

In the order of their making over two years; every second one is the merchant's, the others
those of ten neighbours. Drawn from one seed, so that two runs read the same rows.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from core import ids

RARE = 80  # So many of the merchant's payments have what few have.
TIMES = timedelta(days=730)
# Every second payment has one of these prices; the others' amounts are anything.
PRICES = (4990, 9990, 14990, 19990, 24990, 49900, 99900, 149900)
AMOUNT_MAX = 500_000
PAYMENTS_OF_A_CUSTOMER = 20
BILLED = 70_001  # So many people, each of whom pays again and again.

CUSTOMER_COLUMNS = (
    "id, merchant_id, email, email_key, name, preferred_locales, metadata, created_at"
)
PAYMENT_COLUMNS = (
    "id, merchant_id, status, capture_method, currency, amount, surcharge, authorized_minor,"
    " amount_capturable, captured_minor, captured_surcharge, refunded_minor,"
    " disputed_minor, installments, customer_id, description, metadata, billing_details, card,"
    " three_d_secure_requested, three_d_secure_effective, attempt_ids, line_item_ids, created_at"
)
CARD = json.dumps(
    {
        "brand": "visa", "bin": "424242", "last4": "4242", "masked": "424242******4242",
        "exp_month": 12, "exp_year": 2040, "card_type": "credit", "domestic": False,
    }
)  # fmt: skip
# By what one number drawn is below: the status, the currency, and so on.
STATUSES = {0.82: "succeeded", 0.9: "canceled", 1: "requires_payment_method"}
CURRENCIES = {0.94: "try", 1: "eur"}
METHODS = {0.95: "automatic", 1: "manual"}
CHANNELS = {0.6: "web", 1: "app"}
HAS_CUSTOMER, HAS_TIER, HAS_ORDER = 0.3, 0.1, 0.1


@dataclass
class Shop:
    """A merchant and its customers."""

    merchant_id: str
    customers: list[str]


def shop(merchant_id: str, payments: int) -> Shop:
    count = max(1, payments // PAYMENTS_OF_A_CUSTOMER)
    return Shop(merchant_id, [ids.new("cus") for _ in range(count)])


def customers(shops: list[Shop], now: datetime) -> Iterator[str]:
    for one in shops:
        for number, customer in enumerate(one.customers):
            email = f"customer{number}@example.com"
            addresses = f"{email}\t{email}"
            yield f"{customer}\t{one.merchant_id}\t{addresses}\tAyşe Yılmaz\t{{}}\t{{}}\t{now}\n"


def payments(shops: list[Shop], rows: int, now: datetime) -> Iterator[str]:
    """Yield payments; every second one is the first shop's."""
    ours, *neighbours = shops
    draw = random.Random(7)  # noqa: S311
    rare = set(draw.sample(range(0, rows, 2), RARE))
    for number in range(rows):
        one = neighbours[number // 2 % len(neighbours)] if number % 2 else ours
        at = now - TIMES * ((rows - number) / rows)
        yield _payment(draw, one, number, at=at, is_rare=number in rare)


def _payment(draw: random.Random, shop: Shop, number: int, *, at: datetime, is_rare: bool) -> str:
    amount = draw.choice(PRICES) if draw.random() < 0.5 else draw.randint(100, AMOUNT_MAX)
    status = "processing" if is_rare else _drawn(draw, STATUSES)
    captured = amount if status == "succeeded" else 0
    method = _drawn(draw, METHODS)
    currency = "gbp" if is_rare else _drawn(draw, CURRENCIES)
    customer = draw.choice(shop.customers) if draw.random() < HAS_CUSTOMER else "\\N"
    metadata = _metadata(draw, number, is_rare=is_rare)
    # As `ids.new` makes them, without the draw of random digits.
    own = f"{ids.base62(int(at.timestamp() * 1000), 8)}{number * 6364136223846793005 % 10**16:016}"
    return (
        f"pi_{own}\t{shop.merchant_id}\t{status}\t{method}\t{currency}\t{amount}\t0\t{captured}"
        f"\t0\t{captured}\t0\t0\t0\t1\t{customer}\tOrder {number} of {at:%d.%m.%Y}\t{metadata}"
        f'\t{{"name": "Ayşe Yılmaz", "email": "customer{number % BILLED}@example.com"}}'
        f'\t{CARD}\tautomatic\tautomatic\t["att_{own}"]\t[]\t{at}\n'
    )


def _metadata(draw: random.Random, number: int, *, is_rare: bool) -> str:
    found = {"channel": _drawn(draw, CHANNELS)}
    if draw.random() < HAS_ORDER:
        found["order"] = str(number)
    if is_rare:
        found["tier"] = "gold"
    elif draw.random() < HAS_TIER:
        found["tier"] = "silver"
    return json.dumps(found)


def _drawn(draw: random.Random, shares: dict[float, str]) -> str:
    luck = draw.random()
    return next(word for below, word in shares.items() if luck < below)
