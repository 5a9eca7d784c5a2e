"""Filters of the list of payments (contract 7)."""

from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet
from django_filters import Filter

from core.rest.components import Shape
from core.rest.fields import METADATA_KEY_MAX, METADATA_VALUE_MAX
from core.rest.filters import (
    EXACT,
    RANGE,
    AsGiven,
    CurrencyFilter,
    Filters,
    ObjectIdFilter,
    of_the_merchant,
)
from core.rest.lists import ListSpec
from core.rest.query import Given
from merchants.models import Merchant
from payments.customers.models import Customer
from payments.intents import choices, search
from payments.intents.models import MetadataEntry, PaymentIntent

METADATA_FILTERS_MAX = 10
Pairs = list[tuple[str, str]]


class Metadata(AsGiven):
    """`metadata[key]=value`, for up to ten keys."""

    shape: Shape = {
        "type": "object",
        "maxProperties": METADATA_FILTERS_MAX,
        "propertyNames": {
            "minLength": 1,
            "maxLength": METADATA_KEY_MAX,
            "pattern": r"^[^\[\]]*$",
        },
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": METADATA_VALUE_MAX},
    }

    def clean(self, value: list[Given]) -> Pairs:
        if len(value) > METADATA_FILTERS_MAX:
            raise value[-1].refusal(f"Takes up to {METADATA_FILTERS_MAX} keys.")
        return [_pair(parameter) for parameter in value]


class MetadataFilter(Filter):
    field_class = Metadata


def _with_metadata(rows: Any, _name: str, wanted: Pairs) -> QuerySet[Any]:
    """Return the payments that have all the pairs, found through the entries of the first one.

    The index of entries has the list's order, so a page reads no more entries than it needs.
    """
    (key, value), *others = wanted
    rows = rows.filter(
        metadata_entries__merchant=rows.merchant,
        metadata_entries__key=key,
        metadata_entries__value=value,
    ).alias(
        along_created_at=F("metadata_entries__created_at"),
        along_id=F("metadata_entries__intent_id"),
    )
    return _with_others(rows, rows.merchant, others, payment="pk")


def entries(merchant: Merchant, wanted: Pairs) -> QuerySet[Any]:
    """Return the entries of the first pair: one for each payment that has them all."""
    (key, value), *others = wanted
    rows = MetadataEntry.objects.filter(merchant=merchant, key=key, value=value)
    rows = rows.alias(along_created_at=F("created_at"), along_id=F("intent_id"))
    return _with_others(rows, merchant, others, payment="intent_id").values("intent_id")


def _with_others(
    rows: QuerySet[Any], merchant: Merchant, pairs: Pairs, *, payment: str
) -> QuerySet[Any]:
    for key, value in pairs:
        own = MetadataEntry.objects.filter(merchant=merchant, key=key, value=value)
        rows = rows.filter(Exists(own.filter(intent=OuterRef(payment))))
    return rows


def _pair(parameter: Given) -> tuple[str, str]:
    if len(parameter.keys) != 1 or len(parameter.values) != 1:
        raise parameter.refusal("Must be written as metadata[key]=value, each key once.")
    [key], [value] = parameter.keys, parameter.values
    if not (1 <= len(key) <= METADATA_KEY_MAX and 1 <= len(value) <= METADATA_VALUE_MAX):
        raise parameter.refusal(
            f"Must have a key of 1 to {METADATA_KEY_MAX} characters, and a value of 1 to"
            f" {METADATA_VALUE_MAX}."
        )
    return key, value


class PaymentFilters(Filters):
    meanings = {
        "metadata": f"Up to {METADATA_FILTERS_MAX} keys, each with its exact value.",
        "status": "Where the payment stands.",
        "customer": "The id of the customer.",
        "capture_method": "When the money is taken.",
    }
    choices = {"status": choices.PAYMENT_STATUS, "capture_method": choices.CAPTURE_METHOD}

    metadata = MetadataFilter(method=_with_metadata)
    customer = ObjectIdFilter(method=of_the_merchant(Customer.objects.existing(), "customer"))
    currency = CurrencyFilter()

    class Meta(Filters.Meta):
        model = PaymentIntent
        fields = {
            "metadata": EXACT,
            "status": ["in"],
            "amount": RANGE,
            "created_at": RANGE,
            "customer": EXACT,
            "currency": EXACT,
            "capture_method": EXACT,
        }

    def rows_for_counting(self) -> QuerySet[Any] | None:
        """Return metadata's entries if only metadata is filtered by; `total_count` counts them.

        To look each entry's payment up would cost forty times as much. A foreign key guarantees
        that the payment exists and is the same merchant's.
        """
        cleaned = self.form.cleaned_data
        if cleaned.keys() != {"metadata"} or not self.queryset.is_whole:
            return None
        return entries(self.queryset.merchant, cleaned["metadata"])


PAYMENTS = ListSpec(
    filters=PaymentFilters,
    sort_keys={"created": "created_at", "amount": "amount"},
    search=search.matching,
)
