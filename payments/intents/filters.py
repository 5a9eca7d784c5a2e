"""Filters of the list of payments (contract 7)."""

from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet

from core.rest.fields import METADATA_KEY_MAX, METADATA_VALUE_MAX, Shape
from core.rest.filters import (
    Amounts,
    AnyOf,
    Currency,
    Filters,
    Instants,
    OneOf,
    RelatedId,
    Strict,
)
from core.rest.lists import ListSpec
from core.rest.query import Given
from merchants.models import Merchant
from payments.customers.models import Customer
from payments.intents import search
from payments.intents.models import MetadataEntry, PaymentIntent
from payments.intents.states import PaymentStatus

METADATA_FILTERS_MAX = 10


class Metadata(Strict):
    """`metadata[key]=value`, for up to ten keys."""

    def shapes(self, name: str) -> dict[str, Shape]:
        value = {"type": "string", "minLength": 1, "maxLength": METADATA_VALUE_MAX}
        return {
            name: {
                "type": "object",
                "maxProperties": METADATA_FILTERS_MAX,
                "propertyNames": {
                    "minLength": 1,
                    "maxLength": METADATA_KEY_MAX,
                    "pattern": r"^[^\[\]]*$",
                },
                "additionalProperties": value,
            }
        }

    def read(self, parameters: list[Given]) -> list[tuple[str, str]]:
        if len(parameters) > METADATA_FILTERS_MAX:
            raise parameters[-1].refusal(f"Takes up to {METADATA_FILTERS_MAX} keys.")
        return [_pair(parameter) for parameter in parameters]

    def narrowed(self, rows: Any, wanted: list[tuple[str, str]]) -> QuerySet[Any]:
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

    def entries(self, merchant: Merchant, wanted: list[tuple[str, str]]) -> QuerySet[Any]:
        """Return the entries of the first pair: one for each payment that has them all."""
        (key, value), *others = wanted
        rows = MetadataEntry.objects.filter(merchant=merchant, key=key, value=value)
        rows = rows.alias(along_created_at=F("created_at"), along_id=F("intent_id"))
        return _with_others(rows, merchant, others, payment="intent_id").values("intent_id")


def _with_others(
    rows: QuerySet[Any], merchant: Merchant, pairs: list[tuple[str, str]], *, payment: str
) -> QuerySet[Any]:
    for key, value in pairs:
        own = MetadataEntry.objects.filter(merchant=merchant, key=key, value=value)
        rows = rows.filter(Exists(own.filter(intent=OuterRef(payment))))
    return rows


def _pair(parameter: Given) -> tuple[str, str]:
    if len(parameter.keys) != 1 or len(parameter.values) != 1:
        raise parameter.refusal()
    [key], [value] = parameter.keys, parameter.values
    if not (1 <= len(key) <= METADATA_KEY_MAX and 1 <= len(value) <= METADATA_VALUE_MAX):
        raise parameter.refusal()
    return key, value


class PaymentFilters(Filters):
    metadata = Metadata()
    status = AnyOf("status", PaymentStatus.values)
    amount = Amounts("amount")
    created = Instants("created_at")
    customer = RelatedId("customer", Customer.objects.existing())
    currency = Currency("currency")
    capture_method = OneOf("capture_method", PaymentIntent.CaptureMethod.values)

    def rows_for_counting(self) -> QuerySet[Any] | None:
        """Return metadata's entries if only metadata is filtered by; `total_count` counts them.

        To look each entry's payment up would cost forty times as much. A foreign key guarantees
        that the payment exists and is the same merchant's.
        """
        asked = {name: value for name, value in self.form.cleaned_data.items() if value}
        if asked.keys() != {"metadata"} or not self.queryset.is_whole:
            return None
        return self.filters["metadata"].entries(self.queryset.merchant, asked["metadata"])


PAYMENTS = ListSpec(
    filters=PaymentFilters,
    sort_keys={"created": "created_at", "amount": "amount"},
    search=search.matching,
)
