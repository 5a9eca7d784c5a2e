"""Search by indexed values only: ids, exact e-mails, the start of a description (contract 7)."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Lower

from payments.models import Attempt, Customer
from payments.models.intents import BILLING_EMAIL, DESCRIPTION_START

Rows = QuerySet[Any]

# Of one e-mail address so many customers, the newest ones, are looked at.
CUSTOMERS_MAX = 1000


def payments(rows: Any, text: str) -> Rows:
    """Return the payments among a merchant's `rows` that a text finds."""
    if by_id := BY_ID.get(_prefix(text)):
        return by_id(rows, text)
    lower = Lower(Value(text))
    rows = rows.alias(description_start=DESCRIPTION_START, billing_email=BILLING_EMAIL)
    described = Q(description_start__startswith=lower)
    if "@" not in text:
        return rows.filter(described)
    # Their ids are looked up first: a sub-select inside of an OR is beyond any index.
    theirs = with_email(Customer.objects.for_merchant(rows.merchant), text)
    newest = theirs.order_by("-created_at", "-id").values_list("id", flat=True)
    ids = list(newest[:CUSTOMERS_MAX])
    return rows.filter(described | Q(billing_email=lower) | Q(customer_id__in=ids))


def customers(rows: Any, text: str) -> Rows:
    """Return the customers among a merchant's `rows` that an id or an e-mail address finds."""
    if "@" in text:
        return with_email(rows, text)
    return rows.filter(id=text) if _prefix(text) == "cus" else rows.none()


def with_email(customers: Rows, email: str) -> Rows:
    """Return the customers with exactly an e-mail address, in any case."""
    rows = customers.alias(lower_email=Lower("email"))
    return rows.filter(lower_email=Lower(Value(email)))


def _prefix(text: str) -> str:
    prefix, underscore, _rest = text.partition("_")
    return prefix if underscore else ""


def _by_own_id(rows: Rows, text: str) -> Rows:
    return rows.filter(id=text)


def _by_attempt(rows: Rows, text: str) -> Rows:
    return rows.filter(id__in=Attempt.objects.filter(id=text).values("intent_id"))


def _by_customer(rows: Rows, text: str) -> Rows:
    return rows.filter(customer_id=text)


def _nothing_yet(rows: Rows, text: str) -> Rows:
    # Refunds and disputes do not exist yet, so no payment has one.
    return rows.none()


BY_ID: dict[str, Callable[[Any, str], Rows]] = {
    "pi": _by_own_id,
    "att": _by_attempt,
    "cus": _by_customer,
    "re": _nothing_yet,
    "dp": _nothing_yet,
}
