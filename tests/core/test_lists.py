"""Lists of payments and customers: pages both ways, filters, order, counts (contract 7)."""

from datetime import timedelta

import pytest

from core import clock
from core.rest import lists
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PAYMENTS = "/v1/payment_intents"


def make(client: ApiClient, amount: int = 100, **facts: object) -> str:
    """A payment that waits for its card."""
    return client.post(PAYMENTS, {"amount": amount, "currency": "try", **facts})["id"]


def found(client: ApiClient, query: str = "", path: str = PAYMENTS) -> list[str]:
    answer = client.get(f"{path}?{query}")
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer["data"]]


@pytest.fixture
def five(acme: ApiClient) -> list[str]:
    """Five payments, newest first, of which three have one amount."""
    return [make(acme, amount) for amount in (200, 100, 200, 300, 200)][::-1]


# --- Pages and their order --------------------------------------------------------------------


def test_payments_are_listed_newest_first_and_whole(acme: ApiClient, five: list[str]) -> None:
    answer = acme.get(f"{PAYMENTS}?limit=2")

    assert answer.body.keys() == {"object", "url", "has_more", "data"}
    assert (answer["object"], answer["url"], answer["has_more"]) == ("list", PAYMENTS, True)
    assert answer["data"] == [acme.payment(payment_id).body for payment_id in five[:2]]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("created", [4, 3, 2, 1, 0]),
        ("-created", [0, 1, 2, 3, 4]),
        ("amount", [3, 4, 2, 0, 1]),
        ("-amount", [1, 0, 2, 4, 3]),
    ],
)
def test_a_list_is_walked_both_ways_in_every_order(
    acme: ApiClient, five: list[str], sort: str, order: list[int]
) -> None:
    expected = [five[place] for place in order]

    forward, cursor = [], ""
    while rows := found(acme, f"sort={sort}&limit=2{cursor}"):
        forward += rows
        cursor = f"&starting_after={rows[-1]}"
    backward, cursor = [], f"&ending_before={expected[-1]}"
    while rows := found(acme, f"sort={sort}&limit=2{cursor}"):
        backward = rows + backward
        cursor = f"&ending_before={rows[0]}"

    assert forward == expected
    assert backward == expected[:-1]


def test_the_page_before_a_cursor_says_whether_more_lie_before_it(
    acme: ApiClient, five: list[str]
) -> None:
    near = acme.get(f"{PAYMENTS}?limit=2&ending_before={five[3]}")
    first = acme.get(f"{PAYMENTS}?limit=2&ending_before={five[2]}")

    assert [row["id"] for row in near["data"]] == five[1:3]
    assert [row["id"] for row in first["data"]] == five[:2]
    assert (near["has_more"], first["has_more"]) == (True, False)


def test_a_cursor_holds_after_its_payment_left_the_filter(acme: ApiClient, five: list[str]) -> None:
    acme.post(f"{PAYMENTS}/{five[1]}/cancel")

    assert found(acme, f"status=requires_payment_method&starting_after={five[1]}") == five[2:]


def test_a_cursor_stands_where_its_payment_is_now(acme: ApiClient, five: list[str]) -> None:
    acme.post(f"{PAYMENTS}/{five[1]}", {"amount": 150})

    assert found(acme, f"sort=-amount&starting_after={five[1]}") == [five[3]]


def test_rows_that_are_listed_no_more_may_be_cursors(acme: ApiClient, five: list[str]) -> None:
    rows = PaymentIntent.objects.for_merchant(acme.merchant)
    query = lists.QueryDict(f"starting_after={five[1]}")

    page = lists.page(rows.exclude(id=five[1]), query, lists.ListSpec(), url=PAYMENTS, cursors=rows)

    assert [row.id for row in page.rows] == five[2:]


def test_rows_whose_ids_say_which_is_newer_may_be_sorted_by_them(
    acme: ApiClient, five: list[str]
) -> None:
    spec = lists.ListSpec(sort_keys={"created": "id"})
    rows = PaymentIntent.objects.for_merchant(acme.merchant)

    page = lists.page(rows, lists.QueryDict(f"starting_after={five[2]}"), spec, url=PAYMENTS)

    assert [row.id for row in page.rows] == sorted((i for i in five if i < five[2]), reverse=True)


def test_the_total_is_counted_when_asked_for(acme: ApiClient, five: list[str]) -> None:
    answer = acme.get(f"{PAYMENTS}?limit=1&amount=200&include[]=total_count")

    assert (answer["total_count"], answer["total_count_capped"]) == (3, False)
    assert (len(answer["data"]), answer["has_more"]) == (1, True)


def test_the_total_is_not_counted_beyond_its_bound(
    acme: ApiClient, five: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "TOTAL_MAX", 4)

    counts = [
        (answer["total_count"], answer["total_count_capped"])
        for answer in (
            acme.get(f"{PAYMENTS}?include=total_count"),
            acme.get(f"{PAYMENTS}?include[0]=total_count&starting_after={five[0]}"),
            acme.get(f"{PAYMENTS}?include[]=total_count&amount[gte]=200"),
        )
    ]

    assert counts == [(4, True), (4, True), (4, False)]


def test_another_merchants_payments_are_not_there(
    acme: ApiClient, globex: ApiClient, five: list[str]
) -> None:
    make(globex)

    assert found(acme) == five
    assert not set(found(globex)) & set(five)


# --- Filters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("amount=200", [0, 2, 4]),
        ("amount[gt]=200", [1]),
        ("amount[gte]=200", [0, 1, 2, 4]),
        ("amount[lt]=200", [3]),
        ("amount[lte]=200&amount[gt]=100", [0, 2, 4]),
        ("amount%5Bgte%5D=300", [1]),
        ("amount[gte]=0&amount=300", [1]),
        ("currency=TRY", [0, 1, 2, 3, 4]),
        ("currency=usd", []),
        ("capture_method=automatic", [0, 1, 2, 3, 4]),
        ("capture_method=manual", []),
        ("status=canceled", []),
        ("status=requires_payment_method&amount=100", [3]),
    ],
)
def test_filters_find_what_all_of_them_match(
    acme: ApiClient, five: list[str], query: str, places: list[int]
) -> None:
    assert found(acme, query) == [five[place] for place in places]


@pytest.mark.parametrize("repeated", ["status[]={}&status[]={}", "status[0]={}&status[1]={}",
                                      "status={}&status={}", "status={}&status[]={}"])  # fmt: skip
def test_a_status_may_be_any_of_several(acme: ApiClient, five: list[str], repeated: str) -> None:
    acme.post(f"{PAYMENTS}/{five[2]}/cancel")

    assert found(acme, repeated.format("canceled", "succeeded")) == [five[2]]
    assert found(acme, repeated.format("canceled", "requires_payment_method")) == five


def test_times_are_compared_by_the_second_that_is_shown(acme: ApiClient) -> None:
    at = clock.now().replace(microsecond=0)
    instants = [at - timedelta(microseconds=1), at, at + timedelta(microseconds=999_999),
                at + timedelta(seconds=1)]  # fmt: skip
    rows = [PaymentFactory(merchant=acme.merchant, created_at=one).id for one in instants][::-1]
    second = clock.unix(at)

    assert found(acme, f"created={second}") == rows[1:3]
    assert found(acme, f"created[gt]={second}") == rows[:1]
    assert found(acme, f"created[gte]={second}") == rows[:3]
    assert found(acme, f"created[lt]={second}") == rows[3:]
    assert found(acme, f"created[lte]={second}") == rows[1:]
    assert found(acme, f"created[gt]={second - 1}&created[lt]={second + 1}") == rows[1:3]


def test_a_customers_payments_are_found_by_its_id(acme: ApiClient, five: list[str]) -> None:
    customer = acme.post("/v1/customers")["id"]
    theirs = make(acme, customer=customer)

    assert found(acme, f"customer={customer}") == [theirs]


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("customer", ["cus_nobody", "x", "", "theirs"])
def test_a_customer_who_is_not_the_merchants_is_missing(
    acme: ApiClient, globex: ApiClient, customer: str
) -> None:
    if customer == "theirs":
        customer = globex.post("/v1/customers")["id"]

    answer = acme.get(f"{PAYMENTS}?customer={customer}")

    assert answer.refusal == (404, "resource_missing", "customer")


def test_customers_are_found_by_their_address_in_any_case(acme: ApiClient) -> None:
    ayse, _other, again = (
        acme.post("/v1/customers", {"email": email})["id"]
        for email in ("Ayse@example.com", "ayse@example.org", "AYSE@EXAMPLE.COM")
    )

    assert found(acme, "email=aySe@example.com", "/v1/customers") == [again, ayse]
    assert found(acme, "email=ayse", "/v1/customers") == []
    assert len(found(acme, "created[gte]=1", "/v1/customers")) == 3
    assert found(acme, "created[lt]=1", "/v1/customers") == []


# --- Metadata ---------------------------------------------------------------------------------


def test_payments_are_found_by_their_metadata(acme: ApiClient, globex: ApiClient) -> None:
    old = make(acme, metadata={"order": "7", "shop": "a"})
    new = make(acme, metadata={"order": "7", "shop": "b%_"})
    make(acme, metadata={"order": "70"})
    make(globex, metadata={"order": "7"})

    assert found(acme, "metadata[order]=7") == [new, old]
    assert found(acme, "metadata[order]=7&sort=created&limit=1") == [old]
    assert found(acme, f"metadata[order]=7&starting_after={new}") == [old]
    assert found(acme, f"metadata[order]=7&ending_before={old}&sort=-amount") == [new]
    assert found(acme, "metadata[shop]=a&metadata[order]=7&amount=100") == [old]
    assert found(acme, "metadata[order]=7&metadata[shop]=b%25_&created[gte]=1") == [new]
    assert found(acme, "metadata[Order]=7") == found(acme, "metadata[order]=8") == []
    counted = acme.get(f"{PAYMENTS}?metadata[order]=7&include[]=total_count")
    assert counted["total_count"] == 2


def test_a_changed_metadata_is_found_as_it_is_now(acme: ApiClient) -> None:
    payment = make(acme, metadata={"order": "7", "shop": "a"})

    acme.post(f"{PAYMENTS}/{payment}", {"metadata": {"order": "8", "shop": ""}})

    assert found(acme, "metadata[order]=8") == [payment]
    assert found(acme, "metadata[order]=7") == found(acme, "metadata[shop]=a") == []

    acme.post(f"{PAYMENTS}/{payment}", {"metadata": {}})

    assert found(acme, "metadata[order]=8") == []


def test_whatever_writes_metadata_writes_it_for_the_lists_too(
    acme: ApiClient, bank: BankTransport
) -> None:
    tags = {"a": "1", "ü" * 40: "ş" * 500}
    paid = acme.pay(metadata=tags)
    refused = acme.post(f"{PAYMENTS}/{paid['id']}", {"metadata": {"b": "2"}, "amount": 7})
    acme.post(f"{PAYMENTS}/{paid['id']}", {"metadata": {"c": "3"}, "description": "Tea"})

    row = PaymentIntent.objects.get()

    assert refused.status == 400
    assert row.metadata == {**tags, "c": "3"}
    entries = row.metadata_entries.values_list("key", "value", "merchant_id", "created_at")
    assert sorted(entries) == sorted(
        (key, value, row.merchant_id, row.created_at) for key, value in row.metadata.items()
    )
