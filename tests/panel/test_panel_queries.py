"""How many statements a page costs: the same with much as with little."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.panel_reads import OF_TRANSACTIONS
from panel.permissions import PAGES
from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory
from tests.stage.panel_pages import addresses
from tests.stage.teams import join, person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# Statements that read or write rows. Those about limits and savepoints are more in a test, whose
# transaction outlives the page.
QUERIES_MOST = 15
# A payment comes with all that belongs to it.
QUERIES_OF_DETAILS = {"payment": 16}
# They repeat what was typed, and so they take no card number.
REFUSING_CARDS = {
    "search", "request_logs", "events", "audit_log", "customers", "payments", "refunds", "disputes",
    "payouts", "topups", "movements", "endpoint", "payment_pages",
    "export_payments", "export_refunds", "export_disputes", "export_payouts", "export_topups",
    "export_movements", "export_customers", "export_request_logs", "export_events",
    "export_audit_log",
}  # fmt: skip
SEARCHED = ["order", "ada@example.com", "pi_x", "req_x", "4242424242424242", ""]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_takes_few_statements(acme: ApiClient, globex: ApiClient, name: str) -> None:
    user = person("ada@acme.example", (acme.merchant, "owner"))
    join(user, globex.merchant, "support")
    for number in range(30):
        PaymentFactory(merchant=acme.merchant, description=f"Order {number}")
    client, url = signed_in(user), addresses(acme.merchant)[name]
    client.get(url)

    for q in SEARCHED:
        with CaptureQueriesContext(connection) as statements:
            page = client.get(url, {"q": q})

        count = sum(not one["sql"].lstrip().startswith(OF_TRANSACTIONS) for one in statements)
        print(f"{name} {q}: {count} statements")  # noqa: T201
        is_refused = name in REFUSING_CARDS and q.startswith("42")
        assert page.status_code == (400 if is_refused else 200), q
        assert 0 < count <= QUERIES_OF_DETAILS.get(name, QUERIES_MOST), q
