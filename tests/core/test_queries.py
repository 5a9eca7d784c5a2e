"""How many statements a call costs the service's database, BEGIN and COMMIT included.

Prepared ones are counted too: Django's query log tells of them (core.prepared).
"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock
from events.models import Counter
from payments.risk.models import ListEntry
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment

# In real transactions: inside a test's own, BEGIN would be SAVEPOINT and COMMIT nothing.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

READ_MAX = 5
CHARGE_MAX = 23  # Two of them plan the deliveries of its two events.
REFUND_MAX = 38


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    """Acme after its first payment, which notes when the key was used and opens accounts."""
    acme.pay()
    return acme


def test_reading_a_payment_takes_few_statements(shop: ApiClient) -> None:
    paid = shop.pay()

    with CaptureQueriesContext(connection) as statements:
        shop.payment(paid["id"])

    print(f"GET of a payment: {len(statements)} statements")  # noqa: T201
    assert 0 < len(statements) <= READ_MAX


@pytest.mark.parametrize(
    ("query", "most"),
    [("", READ_MAX), ("metadata[a]=1", READ_MAX), ("include[]=total_count", READ_MAX + 1)],
)
def test_a_list_takes_as_few_statements_for_many_rows(
    query: str, most: int, shop: ApiClient
) -> None:
    for _ in range(3):
        body = {"amount": 100, "currency": "try", "metadata": {"a": "1"}}
        shop.post("/v1/payment_intents", body)

    with CaptureQueriesContext(connection) as of_one:
        shop.get(f"/v1/payment_intents?limit=1&{query}")
    with CaptureQueriesContext(connection) as of_all:
        found = shop.get(f"/v1/payment_intents?{query}")["data"]

    assert len(found) >= 3
    assert len(of_one) == len(of_all) <= most


@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "k"}], ids=["without", "with_a_key"])
def test_taking_a_payment_takes_few_statements(headers: dict, shop: ApiClient) -> None:
    with CaptureQueriesContext(connection) as statements:
        paid = shop.post("/v1/payment_intents", payment(), **headers)

    print(f"create and confirm {headers}: {len(statements)} statements")  # noqa: T201
    texts = [query["sql"].split()[0] for query in statements.captured_queries]
    assert paid["status"] == "succeeded"
    assert 0 < len(texts) <= CHARGE_MAX
    # Two transactions, which wait for the disk, and the request log, which does not.
    assert (texts.count("BEGIN"), texts.count("COMMIT"), texts[-1]) == (2, 2, "WITH")
    assert "merchants_requestlog" in statements.captured_queries[-1]["sql"]
    outside = texts[: texts.index("BEGIN")] + texts[-1:]
    assert outside[:-1] == ["SELECT"] * len(outside[:-1])


@pytest.mark.parametrize("amount", [None, 4000], ids=["void", "refund"])
@pytest.mark.parametrize("headers", [{}, {"idempotency_key": "k"}], ids=["without", "with_a_key"])
def test_a_refund_takes_few_statements(headers: dict, amount: int | None, shop: ApiClient) -> None:
    begin_at_noon()
    paid = shop.pay()["id"]

    with CaptureQueriesContext(connection) as statements:
        refund = shop.refund(paid, amount, **headers)

    print(f"refund of {amount} {headers}: {len(statements)} statements")  # noqa: T201
    assert refund["status"] == "succeeded"
    assert 0 < len(statements) <= REFUND_MAX


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("", 0), ("expand[]=payment_intent", 3), ("expand[]=attempt", 1), ("status=succeeded", 0),
        ("include[]=total_count", 1),
    ],
)  # fmt: skip
def test_a_list_of_refunds_takes_as_few_statements_for_many_rows(
    query: str, more: int, shop: ApiClient
) -> None:
    for _ in range(3):
        shop.refund(shop.pay()["id"], 100)

    with CaptureQueriesContext(connection) as of_one:
        shop.get(f"/v1/refunds?limit=1&{query}")
    with CaptureQueriesContext(connection) as of_all:
        found = shop.get(f"/v1/refunds?{query}")["data"]

    print(f"refunds?{query}: {len(of_all)} statements")  # noqa: T201
    assert len(found) == 3
    assert len(of_one) == len(of_all) <= READ_MAX + more


# How many statements the rules about risk cost a payment, at most (docs/how-to/risk.md).
# The rule about networks costs the API nothing: its payments have none.
RISK_MAX = {"off": 0, "network_alone": 0, "with_lists": 1, "all_on": 3, "all_on_with_lists": 4}


@pytest.mark.parametrize("rules", RISK_MAX)
def test_judging_a_payment_takes_few_statements(rules: str, shop: ApiClient, settings: Any) -> None:
    with CaptureQueriesContext(connection) as without:
        shop.pay()
    if rules == "network_alone":
        settings.RISK_RULES = {"address_declines": "authenticate/1"}
    if rules.startswith("all_on"):
        counting = (
            "card_velocity", "card_declines", "email_velocity", "email_cards", "address_declines",
        )  # fmt: skip
        settings.RISK_RULES = dict.fromkeys(counting, "block/1000")
    if rules.endswith("lists"):
        ListEntry.objects.create(
            list="block", kind="bin", value="999999", shown="999999", created_at=clock.now()
        )

    with CaptureQueriesContext(connection) as judged:
        paid = shop.pay()

    print(f"risk {rules}: {len(judged) - len(without)} statements more")  # noqa: T201
    assert paid["status"] == "succeeded"
    assert len(judged) - len(without) == RISK_MAX[rules]


def test_a_payment_touches_no_sequence_of_its_merchant_or_balance(shop: ApiClient) -> None:
    with CaptureQueriesContext(connection) as statements:
        shop.pay()

    counting = [one["sql"] for one in statements if "events_counter" in one["sql"]]
    assert counting
    of_all = (shop.merchant.id, shop.merchant.id.replace("mer_", "bal_"))
    aggregates = set(Counter.objects.values_list("aggregate_id", flat=True))
    assert not aggregates & set(of_all)
