"""Both forms of a file: no cell of them is a formula, and each reads as the API's list."""

import csv
import io
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from core import csv_rows
from ledger.models import Run
from panel.merchants import csv_forms, export_columns
from panel.merchants.column_words import COLUMNS
from panel.merchants.csv_forms import EXCEL, POINTS, PROGRAMS, CsvForm
from panel.merchants.export_lists import LISTS
from tests.core.test_formulas import READERS, cells, is_formula
from tests.stage.booked import settle_everything
from tests.stage.client import ApiClient
from tests.stage.factories import PaymentFactory
from tests.stage.panel_pages import THINGS
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

FORMS = [PROGRAMS, EXCEL, POINTS]
ZONE = "Europe/Istanbul"
API = {
    "payments": "payment_intents", "refunds": "refunds", "disputes": "disputes",
    "payouts": "payouts", "topups": "topups", "movements": "balance_transactions",
    "customers": "customers",
}  # fmt: skip


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(acme: ApiClient, listed: str) -> str:
    below = "balance/" if listed in ("payouts", "topups", "movements") else ""
    return f"/panel/{acme.merchant.id}/{below}{listed}/export"


def file_of(client: Client, acme: ApiClient, listed: str, form: CsvForm) -> list[list[str]]:
    """Return the cells of a file, the header first, by the file's own rules."""
    answer = client.post(at(acme, listed), {"csv_form": form.name})
    assert answer.status_code == 200, answer.content
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=form.delimiter))


def some_of_everything(acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"email": "ada@x.example", "name": "Ada"})
    paid = acme.pay(customer=customer["id"], metadata={"order": "a;=1"})
    acme.pay(amount=20050, currency="usd")
    acme.post("/v1/refunds", {"payment_intent": paid["id"], "amount": 2500})
    for name in ("dispute", "payout", "topup"):
        THINGS[name](acme.merchant)


# --- Formulas ---------------------------------------------------------------------------------

# Signs that begin formulas, cut cells, quote or are not seen, and some others.
SIGNS = st.sampled_from([*"=+-@＝＋－＠\t\r\n;,\"' a1\u200b\xa0\ufeff", "=1+1", "-2", "@SUM(A1)"])
TEXTS = st.lists(SIGNS, max_size=8).map("".join)
VALUES = st.one_of(
    TEXTS,
    st.integers(-(10**14), 10**14),
    st.booleans(),
    st.none(),
    st.dictionaries(TEXTS, TEXTS, max_size=3),
    st.lists(TEXTS, max_size=3),
)
NAMES = ["id", "currency", "amount", "amount_major", "created", "description", "metadata", "net"]


def rows() -> Any:
    fixed = {"id": st.just("pi_1"), "currency": st.sampled_from(["try", "jpy", "kwd"])}
    amounts = dict.fromkeys(("amount", "net"), st.integers(-(10**14), 10**14))
    fixed |= amounts | {"created": st.sampled_from([None, "2026-03-01T21:30:00Z"])}
    return st.tuples(*(fixed.get(name, VALUES) for name in NAMES))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@settings(max_examples=60, deadline=None)
@given(written=st.lists(rows(), min_size=1, max_size=3))
def test_no_cell_of_a_file_begins_like_a_formula(form: CsvForm, written: list[Any]) -> None:
    write = csv_forms.writer(form, NAMES, ZONE)
    header = csv_forms.header(form, NAMES)

    pieces = csv_rows.pieces(header, map(write, written), delimiter=form.delimiter)
    file = b"".join(pieces).decode("utf-8-sig")

    assert formulas_in(file) == []


def formulas_in(file: str) -> list[str]:
    return [
        cell
        for separators, minds_quotes in READERS
        for cell in cells(file, separators, minds_quotes=minds_quotes)
        if is_formula(cell.replace(",", ".", 1))
    ]


def test_a_text_that_is_taken_for_a_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows.formulas, "plain", str)
    write = csv_forms.writer(EXCEL, ["id", "description"], ZONE)

    file = b"".join(csv_rows.pieces(["id", "x"], [write(["1", "a;=1"])], delimiter=";")).decode()

    assert formulas_in(file)


# --- The same as the API's list ---------------------------------------------------------------


@pytest.mark.parametrize("listed", API)
def test_a_file_for_programs_reads_as_the_apis_list(
    owner: Client, acme: ApiClient, bank: Any, listed: str
) -> None:
    some_of_everything(acme)
    header, *found = file_of(owner, acme, listed, PROGRAMS)
    answered = acme.get(f"/v1/{API[listed]}?limit=100")["data"]

    assert header == list(LISTS[listed].columns)
    assert answered
    for row, body in zip(found, answered, strict=True):
        for name, cell in zip(header, row, strict=True):
            if name in OWN or name.endswith("_major"):
                continue
            assert cell == in_programs(name, value_of(body, name)), (listed, name)


# Of files alone: the API shows them elsewhere.
OWN = {"fee", "net", "available_on", "settlements", "payer.name", "payer.email"}


def value_of(body: dict[str, Any], name: str) -> Any:
    whole, _, part = name.partition(".")
    value = body.get(whole)
    return (value or {}).get(part) if part else value


def in_programs(name: str, value: Any) -> str:
    """Return a value of the API as the documentation says that a file for programs has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if name in ("created", "canceled_at", "evidence_due_by"):
        return datetime.fromtimestamp(value, ZoneInfo("UTC")).strftime("%Y-%m-%dT%H:%M:%SZ")
    if name in ("arrival_date", "expected_availability_date"):
        return datetime.fromtimestamp(value, ZoneInfo(ZONE)).strftime("%Y-%m-%d")
    if isinstance(value, dict | list):
        return str(csv_rows.cell(value))
    return str(value)


@pytest.mark.parametrize("form", [EXCEL, POINTS], ids=lambda form: form.name)
@pytest.mark.parametrize("listed", API)
def test_a_file_for_people_says_the_same_as_that_for_programs(
    owner: Client, acme: ApiClient, bank: Any, listed: str, form: CsvForm
) -> None:
    some_of_everything(acme)
    names, *plain = file_of(owner, acme, listed, PROGRAMS)
    header, *found = file_of(owner, acme, listed, form)

    kept = [name for name in names if not name.endswith("_major")]
    assert header == [str(COLUMNS[name]) for name in kept]
    assert len(found) == len(plain) > 0
    for written, row in zip(plain, found, strict=True):
        values = dict(zip(names, written, strict=True))
        for name, cell in zip(kept, row, strict=True):
            assert back(name, cell, values, form) == values[name], (listed, name)


def back(name: str, cell: str, values: dict[str, str], form: CsvForm) -> str:
    """Return a cell for people as a file for programs has it."""
    if cell and name in csv_forms.AMOUNTS and "currency" in values:
        number = Decimal(cell.replace(form.decimal, "."))
        return str(int(number * 100))
    if cell and name in csv_forms.INSTANTS:
        local = datetime.strptime(cell, "%Y-%m-%d %H:%M:%S").replace(tzinfo=ZoneInfo(ZONE))
        return local.astimezone(ZoneInfo("UTC")).strftime("%Y-%m-%dT%H:%M:%SZ")
    return cell


def test_movements_have_their_fee_and_net_as_the_api(
    owner: Client, acme: ApiClient, bank: Any
) -> None:
    some_of_everything(acme)
    header, *found = file_of(owner, acme, "movements", PROGRAMS)
    answered = acme.get("/v1/balance_transactions?limit=100")["data"]

    sums = [dict(zip(header, row, strict=True)) for row in found]
    assert [(int(one["fee"]), int(one["net"])) for one in sums] == [
        (one["fee"], one["net"]) for one in answered
    ]
    days = [
        datetime.fromtimestamp(one["available_on"], ZoneInfo(ZONE)).strftime("%Y-%m-%d")
        for one in answered
    ]
    assert [one["available_on"] for one in sums] == days


# --- Payments in the books --------------------------------------------------------------------


def test_a_payment_has_fee_net_day_payer_and_its_settlements(
    owner: Client, acme: ApiClient, bank: Any
) -> None:
    customer = acme.post("/v1/customers", {"email": "ada@x.example", "name": "Ada"})
    paid = acme.pay(customer=customer["id"])
    charge = acme.get(f"/v1/balance_transactions?source={paid['id']}")["data"][0]
    before = one_payment(owner, acme)
    settle_everything(acme.merchant)

    after = one_payment(owner, acme)

    assert (int(after["fee"]), int(after["net"])) == (charge["fee"], charge["net"])
    # Those of the bill, as the client of the tests sends them.
    assert after["payer.name"] == "Ayşe Yılmaz"
    assert "@example.com" in after["payer.email"]
    day = datetime.fromtimestamp(charge["available_on"], ZoneInfo(ZONE))
    assert after["available_on"] == day.strftime("%Y-%m-%d")
    assert (before["settlements"], after["settlements"]) == ("", Run.objects.get().id)


def one_payment(client: Client, acme: ApiClient) -> dict[str, str]:
    header, row = file_of(client, acme, "payments", PROGRAMS)
    return dict(zip(header, row, strict=True))


def test_a_payer_without_a_bill_is_the_customer(owner: Client, acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"email": "ada@x.example", "name": "Ada"})
    PaymentFactory(merchant=acme.merchant, customer_id=customer["id"])

    row = one_payment(owner, acme)

    assert (row["payer.name"], row["payer.email"]) == ("Ada", "ada@x.example")


def test_a_payment_that_was_not_charged_has_no_fee(owner: Client, acme: ApiClient) -> None:
    nothing = dict.fromkeys(("authorized_minor", "captured_minor"), 0)
    PaymentFactory(
        merchant=acme.merchant, status="canceled", billing_details={"name": "=cmd"}, **nothing
    )

    row = one_payment(owner, acme)

    assert [row[name] for name in ("fee", "net", "available_on", "settlements")] == [""] * 4
    assert row["payer.name"] == "'=cmd"


# --- The choice -------------------------------------------------------------------------------


def test_the_choice_is_remembered(owner: Client, acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant)
    first = owner.get(at(acme, "payments")).content.decode()

    file_of(owner, acme, "payments", EXCEL)
    again = owner.get(at(acme, "customers")).content.decode()

    assert checked(first) == "programs"
    assert checked(again) == "excel"
    assert owner.cookies["csv_form"]["httponly"]


def checked(page: str) -> str:
    inputs = [one for one in page.split("<input") if 'name="csv_form"' in one]
    [found] = [one for one in inputs if " checked" in one]
    return found.partition('value="')[2].partition('"')[0]


def test_the_english_form_is_offered_in_english_alone(owner: Client, acme: ApiClient) -> None:
    owner.cookies["csv_form"] = "excel_points"
    english = owner.get(at(acme, "payments")).content.decode()
    owner.cookies["language"] = "tr"
    turkish = owner.get(at(acme, "payments")).content.decode()

    assert (checked(english), checked(turkish)) == ("excel_points", "programs")
    assert "excel_points" not in turkish


def test_a_form_that_there_is_not_is_that_for_programs(owner: Client, acme: ApiClient) -> None:
    PaymentFactory(merchant=acme.merchant)

    answer = owner.post(at(acme, "payments"), {"csv_form": "x"})

    assert b"".join(answer.streaming_content).startswith(b"\xef\xbb\xbfid,created,")


def test_every_column_has_words_in_both_languages() -> None:
    named = {name for one in LISTS.values() for name in one.columns if not name.endswith("_major")}
    with translation.override("tr"):
        turkish = {name: str(COLUMNS[name]) for name in named}

    assert named <= {*COLUMNS}
    assert all(turkish.values())
    for one in LISTS.values():
        header = csv_forms.header(EXCEL, one.columns)
        assert len(set(header)) == len(header), one.page
    assert export_columns.PAYMENTS[0] == "id"
