"""The payments with domestic cards are counted from the newest on, however many there are."""

import psycopg
import pytest
from django.http import QueryDict

from bench import buffers, panel_books_fill
from core.rest import lists
from merchants.models import Merchant
from payments.intents.filters import PAYMENTS
from payments.intents.models import PaymentIntent
from tests.stage.client import ApiClient
from tests.stage.database_role import as_superuser

ROWS = 25_000
# Six of seven cards are domestic: a count ends at 10,000, of about half of the table.
MOST_BUFFERS = 1_300
FORGET = """
DELETE FROM pg_statistic_ext_data WHERE stxoid = (
    SELECT oid FROM pg_statistic_ext WHERE stxname = 'payments_with_domestic_cards'
)
"""


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_count_of_domestic_cards_ends_where_it_is_enough(acme: ApiClient) -> None:
    panel_books_fill.fill(acme.merchant, payments=ROWS, month=1, before=0)

    read = _buffers_of_count(acme.merchant)

    assert read <= MOST_BUFFERS
    # A planted fault: without statistics PostgreSQL expects few, and sorts all of them.
    with psycopg.connect(as_superuser()) as server:
        server.execute(FORGET)
    assert _buffers_of_count(acme.merchant) > MOST_BUFFERS


def _buffers_of_count(merchant: Merchant) -> int:
    payments = PaymentIntent.objects.for_merchant(merchant)
    asked = QueryDict("domestic=true")
    total, read = buffers.of_statements(lambda: lists.total(payments, asked, PAYMENTS))
    assert total == lists.TOTAL_MAX + 1
    return sum(read)
