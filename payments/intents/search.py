"""Payments that a text finds, by indexed values only: ids, exact e-mails, starts of descriptions.

Source of the rule: contract 7.
"""

from collections.abc import Callable
from typing import Any

from django.db.models import Q, QuerySet, Value

from core.folding import Folded
from core.names import email_key
from payments.customers import search as customers
from payments.customers.models import Customer
from payments.intents.models import Attempt
from payments.intents.models.intents import BILLING_EMAIL, DESCRIPTION_START

Rows = QuerySet[Any]

# The newest customers with one e-mail address that are looked at.
CUSTOMERS_MAX = 1000


def matching(rows: Any, text: str) -> Rows:
    """Return the payments that a text finds.

    :param rows: one merchant's payments.
    :param text: an id of a payment, attempt, customer, refund or dispute; an e-mail address; or
        the start of a description.
    """
    if by_id := BY_ID.get(_prefix(text)):
        return by_id(rows, text)
    rows = rows.alias(description_start=DESCRIPTION_START, billing_email=BILLING_EMAIL)
    described = Q(description_start__startswith=Folded(Value(text)))
    if "@" not in text:
        return rows.filter(described)
    # Their ids are looked up first: with a sub-select inside of an OR no index would be used.
    theirs = customers.with_email(Customer.objects.for_merchant(rows.merchant), text)
    newest = theirs.order_by("-created_at", "-id").values_list("id", flat=True)
    ids = list(newest[:CUSTOMERS_MAX])
    return rows.filter(described | Q(billing_email=email_key(text)) | Q(customer_id__in=ids))


def _prefix(text: str) -> str:
    prefix, underscore, _rest = text.partition("_")
    return prefix if underscore else ""


def _by_own_id(rows: Rows, text: str) -> Rows:
    return rows.filter(id=text)


def _by_attempt(rows: Rows, text: str) -> Rows:
    return rows.filter(id__in=Attempt.objects.filter(id=text).values("intent_id"))


def _by_customer(rows: Rows, text: str) -> Rows:
    return rows.filter(customer_id=text)


def _by_refund(rows: Rows, text: str) -> Rows:
    # The rooms of refunds and disputes are above this one: their rows are reached by foreign key.
    return rows.filter(refunds__id=text)


def _by_dispute(rows: Rows, text: str) -> Rows:
    return rows.filter(disputes__id=text)


BY_ID: dict[str, Callable[[Any, str], Rows]] = {
    "pi": _by_own_id,
    "att": _by_attempt,
    "cus": _by_customer,
    "re": _by_refund,
    "dp": _by_dispute,
}
