"""A count by metadata is of the rows that are listed, although other rows are counted."""

import pytest
from django.db.models import QuerySet
from django.http import QueryDict

from core.rest import lists
from payments.charging.views import PaymentIntentViewSet
from payments.intents import metadata
from payments.intents.filters import PaymentFilters, entries
from payments.intents.models import PaymentIntent
from tests.stage.factories import MerchantFactory, PaymentFactory

pytestmark = pytest.mark.django_db

SPEC = PaymentIntentViewSet.lists["list"]


@pytest.fixture
def rows() -> QuerySet:
    """Four payments: two of shop 1, one of which is of till 7, and one of shop 2."""
    merchant = MerchantFactory()
    for given in ({"shop": "1"}, {"shop": "1", "till": "7"}, {"shop": "2", "till": "7"}, {}):
        metadata.index(PaymentFactory(merchant=merchant, metadata=given))
    metadata.index(PaymentFactory(metadata={"shop": "1"}))
    return PaymentIntent.objects.for_merchant(merchant)


def counted(rows: QuerySet, query: str) -> int | None:
    asked = QueryDict(f"{query}&include[]=total_count")
    return lists.page(rows, asked, SPEC, url="/").total_count


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ("metadata[shop]=1", 2),
        ("metadata[shop]=1&metadata[till]=7", 1),
        ("metadata[shop]=3", 0),
        ("metadata[shop]=1&sort=amount&limit=1", 2),
        ("metadata[shop]=1&amount=1", 0),
        ("metadata[shop]=1&status=canceled", 0),
        ("metadata[shop]=1&created[lt]=1", 0),
        ("metadata[shop]=1&q=nothing", 0),
    ],
)
def test_a_count_by_metadata_is_of_what_all_filters_match(
    rows: QuerySet, query: str, total: int
) -> None:
    assert counted(rows, query) == total


def test_a_count_of_some_of_a_merchants_payments_leaves_out_the_others(rows: QuerySet) -> None:
    some = rows.exclude(id=rows.filter(metadata={"shop": "1"}).get().id)

    assert counted(some, "metadata[shop]=1") == 1
    assert counted(rows.none(), "metadata[shop]=1") == 0


def test_a_count_of_entries_whatever_else_is_asked_for_is_found(
    rows: QuerySet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def always(filters: PaymentFilters) -> QuerySet:
        merchant, wanted = filters.queryset.merchant, filters.form.cleaned_data["metadata"]
        return entries(merchant, wanted)

    monkeypatch.setattr(PaymentFilters, "rows_for_counting", always)

    assert counted(rows, "metadata[shop]=1&status=canceled") == 2
