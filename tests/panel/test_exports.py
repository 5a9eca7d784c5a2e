"""Exports: a list's rows as a CSV file, with the list's own filter."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from core import clock, redis
from core.rest import list_walks
from merchants.models import AuditEntry, RequestLog
from panel import patience
from panel.merchants import downloads, exports
from panel.merchants.export_lists import LISTS
from payments.customers import customers
from payments.customers.forms import CreateCustomerForm
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory, RequestLogFactory
from tests.stage.hooks import tell
from tests.stage.panel_pages import THINGS
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

API = {
    "payments": "payment_intents", "customers": "customers", "request_logs": "request_logs",
    "events": "events",
}  # fmt: skip

MONEY = {"payments", "refunds", "disputes", "payouts", "topups", "movements"}


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, listed: str, query: str = "") -> str:
    return f"/panel/{acme.merchant.id}/{place(listed)}/export?{query}"


def place(listed: str) -> str:
    return f"balance/{listed}" if listed in ("payouts", "topups", "movements") else listed


def rows_of(answer: Any) -> list[dict[str, str]]:
    """Return the rows that a spreadsheet reads in a file."""
    assert answer.status_code == 200, answer.content
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    csv.field_size_limit(2**22)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def exported(client: Client, acme: ApiClient, listed: str, query: str = "") -> list[dict[str, str]]:
    return rows_of(client.post(at(acme, listed, query)))


def hang_up(answer: Any) -> None:
    """Close an answer as the web server does when the client is gone, but for the connection.

    The test's own is the only one.
    """
    for close in answer._resource_closers:
        close()


def audited(acme: ApiClient) -> list[AuditEntry]:
    return list(
        AuditEntry.objects.filter(merchant=acme.merchant, action="export.made").order_by("sequence")
    )


def customer(acme: ApiClient, **fields: Any) -> Customer:
    return customers.create(acme.merchant, CreateCustomerForm.read(fields))


def all_of_the_api(acme: ApiClient, listed: str, query: str) -> list[str]:
    found: list[str] = []
    while True:
        after = f"&starting_after={found[-1]}" if found else ""
        page = acme.get(f"/v1/{API[listed]}?limit=7&{query}{after}")
        assert page.status == 200, page
        found += [one["id"] for one in page["data"]]
        if not page["has_more"]:
            return found


def all_of_the_panel(owner: Client, acme: ApiClient, listed: str, query: str) -> list[str]:
    found: list[str] = []
    while True:
        after = f"&starting_after={found[-1]}" if found else ""
        page = owner.get(f"/panel/{acme.merchant.id}/{listed}?{query}{after}").context["page"]
        found += [one.id for one in page.rows]
        if not page.has_more:
            return found


def fill(acme: ApiClient, globex: ApiClient) -> None:
    now = clock.now()
    for number in range(40):
        sums = dict.fromkeys(
            ("amount", "authorized_minor", "captured_minor"), 100 * (number % 7 + 1)
        )
        PaymentFactory(
            merchant=acme.merchant, created_at=now - timedelta(seconds=number // 3),
            description=f"Order {number % 5}", currency="try" if number % 4 else "usd",
            metadata={"order": str(number % 3)}, **sums,
        )  # fmt: skip
        RequestLogFactory(
            merchant=acme.merchant, status=(200, 404, 500)[number % 3],
            created_at=now - timedelta(seconds=number // 3),
        )  # fmt: skip
    for number in range(9):
        one = customer(acme, email=f"payer{number % 2}@x.example", name=f"Ayşe {number}")
        if number % 4 == 0:
            customers.delete(acme.merchant, one.id)
    PaymentFactory(merchant=globex.merchant)
    customer(globex, email="payer1@x.example")


SINCE = "created[gte]={}"
FILTERS = [
    ("payments", ""),
    ("payments", "sort=created"),
    ("payments", "sort=amount"),
    ("payments", "sort=-amount&currency=usd"),
    ("payments", "amount[gte]=200&amount[lt]=500&sort=amount"),
    ("payments", "status[]=succeeded&status[]=processing"),
    ("payments", "status=canceled"),
    ("payments", "metadata[order]=1"),
    ("payments", "q=order+3"),
    ("payments", "created[gte]={early}&created[lt]={late}"),
    ("payments", "created[gt]={early}&sort=created&currency=try"),
    ("customers", ""),
    ("customers", "email=payer1@x.example"),
    ("customers", "sort=created&created[lte]={late}"),
    ("request_logs", ""),
    ("request_logs", "status=4xx"),
    ("request_logs", "status=500&created[gte]={early}"),
    ("request_logs", "sort=created&kind=api&created[lt]={late}"),
    ("events", ""),
    ("events", "type=customer.created"),
    ("events", "aggregate_type=customer&sort=created"),
    ("events", "delivery_success=true"),
    ("events", "delivery_success=false"),
]


@pytest.mark.parametrize(("listed", "query"), FILTERS)
def test_the_file_has_the_rows_of_the_api_and_of_the_panel_in_their_order(
    owner: Client, acme: ApiClient, globex: ApiClient, listed: str, query: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    fill(acme, globex)
    monkeypatch.setattr(exports, "PAGE_ROWS", 6)
    now = clock.unix(clock.now())
    query = query.format(early=now - 9, late=now - 3)

    found = [row["id"] for row in exported(owner, acme, listed, query)]

    # The calls of the API below are request logs themselves.
    assert found == all_of_the_panel(owner, acme, listed, query)
    assert found == all_of_the_api(acme, listed, query)
    assert len(found) == len(set(found))


def test_the_audit_log_is_exported_as_its_page_has_it(owner: Client, acme: ApiClient) -> None:
    customer(acme, email="x@x.example")
    for _ in range(3):
        exported(owner, acme, "customers")
    shown = all_of_the_panel(owner, acme, "audit_log", "action=export.made")

    found = exported(owner, acme, "audit_log", "action=export.made")

    # The export's own row is written before the file.
    assert [row["id"] for row in found[1:]] == shown
    assert len(shown) == 3
    assert {row["actor_name"] for row in found} == {"ada@acme.example"}


def test_words_of_operators_are_not_in_the_file(owner: Client, acme: ApiClient) -> None:
    entry = AuditEntry.objects.filter(merchant=acme.merchant).exclude(actor="user")[0]

    [row] = [one for one in exported(owner, acme, "audit_log") if one["id"] == entry.id]

    assert (row["actor"], row["actor_id"], row["actor_name"], row["address"], row["reason"]) == (
        entry.actor, "", "", "", "",
    )  # fmt: skip


def test_a_payment_has_minor_units_and_major_ones_and_utc(owner: Client, acme: ApiClient) -> None:
    sums = dict.fromkeys(("amount", "authorized_minor", "captured_minor"), 12505)
    made = PaymentFactory(merchant=acme.merchant, currency="try", description="İğne", **sums)

    [row] = exported(owner, acme, "payments")

    assert next(iter(row)) == "id"
    assert (row["amount"], row["amount_major"], row["description"]) == ("12505", "125.05", "İğne")
    assert row["created"] == made.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("listed", LISTS)
@pytest.mark.usefixtures("bank")
def test_columns_have_values_of_their_own(owner: Client, acme: ApiClient, listed: str) -> None:
    PaymentFactory(merchant=acme.merchant)
    RequestLogFactory(merchant=acme.merchant)
    customer(acme, email="x@x.example")
    acme.pay()
    if listed in MONEY:
        acme.post("/v1/refunds", {"payment_intent": acme.pay()["id"], "amount": 1})
        for name in ("dispute", "payout", "topup"):
            THINGS[name](acme.merchant)

    answer = owner.post(at(acme, listed))
    header, *_rows = list(
        csv.reader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig")))
    )

    assert header == list(LISTS[listed].columns)
    assert _rows
    assert {len(row) for row in _rows} == {len(header)}
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("text", ['=HYPERLINK("https://x.example","a")', "+1", "-1", "@a"])
def test_a_description_cannot_be_a_formula(owner: Client, acme: ApiClient, text: str) -> None:
    PaymentFactory(merchant=acme.merchant, description=text)

    [row] = exported(owner, acme, "payments")

    assert row["description"] == f"'{text}"


def test_quotes_lines_and_a_megabyte_come_back(owner: Client, acme: ApiClient) -> None:
    long = {"note": "x" * 2**20}
    PaymentFactory(merchant=acme.merchant, description='a "b"\r\nc,d', metadata=long)

    [row] = exported(owner, acme, "payments")

    assert row["description"] == 'a "b"\r\nc,d'
    assert len(row["metadata"]) > 2**20


def test_a_filter_that_finds_nothing_gives_a_header(owner: Client, acme: ApiClient) -> None:
    answer = owner.post(at(acme, "payments", "amount[gte]=999"))

    [header] = b"".join(answer.streaming_content).splitlines()
    assert header.startswith(b"\xef\xbb\xbfid,created,status,amount,amount_major,")


def test_a_pruned_event_is_not_in_the_file(owner: Client, acme: ApiClient) -> None:
    events = [tell(acme.merchant, f"cus_{number}") for number in range(2)]
    with connection.cursor() as cursor:
        cursor.execute("SELECT prune_events(%s)", [[events[0].id]])

    assert [row["id"] for row in exported(owner, acme, "events")] == [events[1].id]


def test_the_audit_row_is_written_before_the_first_byte(owner: Client, acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant)

    answer = owner.post(at(acme, "payments", "currency=try&sort=amount"))

    [row] = audited(acme)
    assert (row.subject, row.actor_name) == ("payments", "ada@acme.example")
    assert row.after == {"filter": {"currency": ["try"], "sort": ["amount"]}, "rows": 1}
    hang_up(answer)


def test_the_audit_row_has_no_words_of_payers(owner: Client, acme: ApiClient) -> None:
    exported(owner, acme, "customers", "email=payer@x.example")
    exported(owner, acme, "payments", "q=Zeynep&metadata[order]=Zeynep")

    kept = [row.after["filter"] for row in audited(acme)]
    assert kept == [{"email": ["…"]}, {"q": ["…"], "metadata[order]": ["…"]}]


def test_the_name_says_merchant_and_range(owner: Client, acme: ApiClient) -> None:
    answer = owner.post(at(acme, "payments", "created[gte]=1700000000&created[lt]=1700086400"))

    name = f"payments_{acme.merchant.id}_20231114T221320Z_20231115T221320Z.csv"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    hang_up(answer)


def test_a_person_makes_one_export_at_a_time(owner: Client, acme: ApiClient) -> None:
    first = owner.post(at(acme, "payments"))

    second = owner.post(at(acme, "customers"))

    assert second.status_code == 409
    assert b"Another export of yours is running" in second.content
    assert len(audited(acme)) == 1
    hang_up(first)
    assert exported(owner, acme, "customers") == []


def test_colleagues_export_at_the_same_time(owner: Client, acme: ApiClient) -> None:
    first = owner.post(at(acme, "payments"))
    colleague = signed_in(person("bob@acme.example", (acme.merchant, "finance")))

    assert exported(colleague, acme, "payments") == []
    hang_up(first)


def test_the_end_of_a_file_ends_the_turn(owner: Client, acme: ApiClient) -> None:
    for _ in range(3):
        assert exported(owner, acme, "payments") == []


def test_an_ended_download_ends_the_work(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    monkeypatch.setattr("core.csv_rows.PIECE_CHARACTERS", 1)
    for _ in range(10):
        PaymentFactory(merchant=acme.merchant)
    answer = owner.post(at(acme, "payments"))
    pieces = iter(answer.streaming_content)
    seen = [next(pieces) for _ in range(3)]
    before = len(connection.queries_log)

    hang_up(answer)

    assert len(seen) == 3
    assert list(answer.streaming_content) == []
    assert len(connection.queries_log) == before
    assert redis.call(lambda client: client.keys("export:*")) == []


def test_an_export_that_lost_its_turn_ends(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 1)
    for _ in range(3):
        PaymentFactory(merchant=acme.merchant)
    first = owner.post(at(acme, "payments"))
    redis.call(lambda client: client.flushdb())  # As if it had waited for a minute.
    second = owner.post(at(acme, "payments"))

    with pytest.raises(downloads.AnotherIsRunning):
        list(first.streaming_content)
    hang_up(first)

    assert owner.post(at(acme, "payments")).status_code == 409  # The second's turn goes on.
    assert len(rows_of(second)) == 3


def test_without_redis_nothing_is_exported(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_command: Any) -> None:
        raise redis.Away

    monkeypatch.setattr(redis, "call", away)

    answer = owner.post(at(acme, "payments"))

    assert answer.status_code == 503
    assert audited(acme) == []


def test_too_many_rows_are_offered_in_parts_that_have_them_all(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "ROWS_MOST", 10)
    now = clock.now()
    made = [
        PaymentFactory(merchant=acme.merchant, created_at=now - timedelta(seconds=number // 3)).id
        for number in range(100)
    ]

    refused = owner.post(at(acme, "payments", "currency=try"))

    assert refused.status_code == 400
    assert audited(acme) == []
    found, queries = [], ["currency=try"]
    while queries:
        page = owner.get(at(acme, "payments", query := queries.pop(0)))
        if parts := page.context["parts"]:
            assert [part.is_rest for part in parts[:-1]] == [False] * (len(parts) - 1)
            queries += [part.query for part in parts]
        else:
            rows = exported(owner, acme, "payments", query)
            assert len(rows) == page.context["count"] <= 10
            found += [row["id"] for row in rows]
    assert sorted(found) == sorted(made)


def test_rows_of_one_second_cannot_be_parted(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "ROWS_MOST", 3)
    now = clock.now()
    for _ in range(9):
        PaymentFactory(merchant=acme.merchant, created_at=now)

    page = owner.get(at(acme, "payments"))

    assert page.context["parts"] == []
    assert b"narrow the list by another filter" in page.content


def test_no_transaction_and_no_limit_outlasts_a_page(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 1)
    monkeypatch.setattr("core.csv_rows.PIECE_CHARACTERS", 1)
    PaymentFactory.create_batch(3, merchant=acme.merchant)
    depth = len(connection.atomic_blocks)
    answer = owner.post(at(acme, "payments"))

    for _piece in answer.streaming_content:
        assert len(connection.atomic_blocks) == depth
        assert patience._limit.get() is None


def test_a_page_that_takes_too_long_cuts_the_file_off(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    PaymentFactory(merchant=acme.merchant)

    def late(*_source: Any, size: int) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(60)")
        yield []

    monkeypatch.setattr(downloads, "PAGE_MS", 20)
    monkeypatch.setattr(list_walks, "walk", late)
    answer = owner.post(at(acme, "payments"))

    with pytest.raises(patience.TookTooLong):
        list(answer.streaming_content)
    hang_up(answer)


def test_the_page_says_the_filter_in_words_and_counts(owner: Client, acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant, amount=12500)
    query = "currency=try&amount[gte]=12500&status[]=succeeded&created[gte]=1700000000"

    page = owner.get(at(acme, "payments", query)).content.decode()

    for word in ("TRY", "Amount from", "125.00", "Succeeded", "15 Nov 2023", "<strong>1</strong>"):
        assert word in page, word


@pytest.mark.parametrize(
    "query", ["amount[gte]=x", "status=odd", "sort=odd", "created[gte]=yesterday", "metadata=1"]
)
def test_what_the_list_refuses_is_not_exported(owner: Client, acme: ApiClient, query: str) -> None:
    for answer in (owner.get(at(acme, "payments", query)), owner.post(at(acme, "payments", query))):
        assert answer.status_code == 400
        assert b"cannot show" in answer.content
    assert audited(acme) == []


@pytest.mark.parametrize("query", ["q=4242424242424242", "q=4242+4242+4242+4242"])
def test_a_card_number_in_the_address_is_not_repeated(
    owner: Client, acme: ApiClient, query: str
) -> None:
    answer = owner.post(at(acme, "payments", query))

    assert answer.status_code == 400
    assert b"4242" not in answer.content


def test_inputs_of_people_go_to_the_list_first(owner: Client, acme: ApiClient) -> None:
    answer = owner.post(at(acme, "payments", "amount_from=125,00"))

    assert answer["Location"] == f"/panel/{acme.merchant.id}/payments?amount_from=125%2C00"


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("owner", {*LISTS}),
        ("developer", {"request_logs", "events"}),
        ("finance", MONEY | {"customers"}),
        ("accountant", MONEY | {"customers"}),
        ("support", set()),
    ],
)
def test_roles_export_what_the_table_says(acme: ApiClient, role: str, allowed: set[str]) -> None:
    client = signed_in(person(f"{role}@x.example", (acme.merchant, role)))

    found = {name for name in LISTS if client.get(at(acme, name)).status_code == 200}

    assert found == allowed
    for name in LISTS:
        page = client.get(f"/panel/{acme.merchant.id}/{place(name)}")
        if page.status_code == 200:
            assert (f"/{name}/export" in page.content.decode()) == (name in allowed)


def test_a_list_leads_to_the_export_of_its_filter(owner: Client, acme: ApiClient) -> None:
    page = owner.get(f"/panel/{acme.merchant.id}/payments?currency=usd&sort=amount")

    assert f'{at(acme, "payments")}currency=usd&amp;sort=amount"' in page.content.decode()


def test_another_merchants_rows_are_not_in_the_file(
    owner: Client, acme: ApiClient, globex: ApiClient
) -> None:
    PaymentFactory(merchant=globex.merchant)

    assert exported(owner, acme, "payments") == []
    assert owner.post(at(globex, "payments")).status_code == 404


def test_a_request_logs_bodies_are_not_read(owner: Client, acme: ApiClient) -> None:
    RequestLogFactory(merchant=acme.merchant)

    [row] = exported(owner, acme, "request_logs")

    assert "request_body" not in row
    assert RequestLog.objects.filter(id=row["id"]).exists()


def test_rows_that_come_meanwhile_disturb_none(
    owner: Client, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    monkeypatch.setattr("core.csv_rows.PIECE_CHARACTERS", 1)
    made = [PaymentFactory(merchant=acme.merchant) for _ in range(6)]
    answer = owner.post(at(acme, "payments"))

    content = iter(answer.streaming_content)
    pieces = [next(content), next(content)]
    for piece in content:
        PaymentFactory(merchant=acme.merchant)
        pieces.append(piece)

    rows = b"".join(pieces).decode("utf-8-sig").splitlines()[1:]
    newest_first = sorted(made, key=lambda row: (row.created_at, row.id), reverse=True)
    assert [row.split(",")[0] for row in rows] == [row.id for row in newest_first]
    assert PaymentIntent.objects.filter(merchant=acme.merchant).count() > 6
