"""Filters of the list of payments (contract 7)."""

from collections.abc import Callable
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django_filters import Filter

from core.rest.components import Shape
from core.rest.fields import METADATA_KEY_MAX, METADATA_VALUE_MAX
from core.rest.filters import (
    EXACT,
    RANGE,
    Amount,
    AsGiven,
    CurrencyFilter,
    Filters,
    ObjectIdFilter,
    Text,
    TrueOrFalseFilter,
    of_the_merchant,
)
from core.rest.lists import ListSpec
from core.rest.query import Given
from merchants.models import Merchant
from payments.customers.models import Customer
from payments.intents import choices, search
from payments.intents.models import MetadataEntry, PaymentIntent
from payments.intents.models.intents import CARD_ISSUER, CARD_LAST4, CARD_PROGRAM

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


class Last4(Text):
    """Four digits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(form="[0-9]{4}", refused_by="Must be the last 4 digits.", **options)


class Last4Filter(Filter):
    field_class = Last4


class Program(Text):
    """A programme of installments, in the form in which a table of BINs has it."""

    def __init__(self, **options: Any) -> None:
        refused_by = "Must be a programme: 1 to 40 of a-z, 0-9 and _."
        super().__init__(form="[a-z0-9_]{1,40}", refused_by=refused_by, **options)


class ProgramFilter(Filter):
    field_class = Program


class Issuer(Text):
    """An issuer's name, letter for letter."""

    def __init__(self, **options: Any) -> None:
        super().__init__(form=".{1,100}", refused_by="Must have 1 to 100 characters.", **options)


class IssuerFilter(Filter):
    field_class = Issuer


class Installments(Amount):
    """A number of installments; 1 is none."""

    most = 99
    refused_by = f"Must be a whole number from 0 to {most}: 1 is a payment without installments."


class InstallmentsFilter(Filter):
    field_class = Installments


def _of_domestic_cards(rows: Any, _name: str, wanted: bool) -> QuerySet[Any]:
    """Return the payments whose card is known to be domestic, or known to be none."""
    return rows.filter(card__domestic=wanted)


def _of_the_card(part: KeyTextTransform) -> Callable[[Any, str, str], QuerySet[Any]]:
    """Return a filter's method that finds payments by a part of the card, by its index."""

    def narrowed(rows: Any, name: str, wanted: str) -> QuerySet[Any]:
        return rows.alias(**{f"card_{name}": part}).filter(**{f"card_{name}": wanted})

    return narrowed


class PaymentFilters(Filters):
    meanings = {
        "metadata": f"Up to {METADATA_FILTERS_MAX} keys, each with its exact value.",
        "status": "Where the payment stands.",
        "customer": "The id of the customer.",
        "capture_method": "When the money is taken.",
        "last4": "The last 4 digits of the card that was given or tried last.",
        "program": "The installment programme of the card that was given or tried last.",
        "issuer": "The bank that issued the card that was given or tried last, letter for letter.",
        "installments": "The number of installments; `1` is none.",
        "domestic": "Whether the card that was given or tried last is of this country.",
    }
    choices = {"status": choices.PAYMENT_STATUS, "capture_method": choices.CAPTURE_METHOD}

    metadata = MetadataFilter(method=_with_metadata)
    customer = ObjectIdFilter(method=of_the_merchant(Customer.objects.existing(), "customer"))
    currency = CurrencyFilter()
    last4 = Last4Filter(method=_of_the_card(CARD_LAST4))
    program = ProgramFilter(method=_of_the_card(CARD_PROGRAM))
    issuer = IssuerFilter(method=_of_the_card(CARD_ISSUER))
    installments = InstallmentsFilter()
    domestic = TrueOrFalseFilter(method=_of_domestic_cards)

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
