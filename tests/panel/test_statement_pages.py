"""Statements in the panel: listed, shown, in a file, and unknown where there is none."""

import csv
import re
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core import clock
from ledger import checkpoints
from merchants.models import Merchant
from panel.merchants import statement_rows
from payouts.statements import closing
from payouts.statements.models import Statement
from tests.stage.book_keeping import Till, price
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in
from tests.stage.transfers import enrich, pay_out

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CONTROL = ("SAVEPOINT", "RELEASE", "SET ", "ROLLBACK")


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


@pytest.fixture
def november(acme: ApiClient, monkeypatch: pytest.MonkeyPatch) -> Statement:
    """The statement of Acme's November, with money of many kinds."""
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: datetime(2026, 11, 10, 12, tzinfo=UTC))
        price(acme.merchant)
        till = Till(acme.merchant)
        charge = till.charge(1_000_00, surcharge=50_00)
        till.refund(charge, 40_00)
        till.dispute(charge, 10_00)
        enrich(acme.merchant)
        pay_out(acme, 90_00)
        checkpoints.advance()
        patch.setattr(clock, "now", lambda: datetime(2026, 12, 1, 12, tzinfo=UTC))
        closing.close_due()
    return Statement.objects.get()


def read(client: Client, acme: ApiClient, name: str, thing: str = "") -> str:
    page = client.get(address(name, acme.merchant.id, thing))
    assert page.status_code == 200
    return " ".join(page.content.decode().split())


def test_last_months_statement_is_two_clicks_away(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    overview = owner.get(f"/panel/{acme.merchant.id}").content.decode()
    listed = read(owner, acme, "statements")

    assert address("statements", acme.merchant.id) in overview
    assert address("statement", acme.merchant.id, "2026-11-try") in listed
    assert address("statement", acme.merchant.id, "2026-12-try") in listed
    for words in ("November 2026", "Final", "December 2026", "Provisional"):
        assert words in listed, words


def test_a_statement_shows_what_its_row_has(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    page = read(owner, acme, "statement", "2026-11-try")

    for words in (
        "Statement · November 2026", "Opening balance", "Refunds", "−₺38.00",
        "Disputes (held back)",
        "Closing balance", "This is not an invoice", "Agrees with the ledger", "−₺90.00", "₺90.00",
        "Europe/Istanbul", "December ›",
    ):  # fmt: skip
        assert words in page, words
    assert "Provisional" not in page


def test_days_of_payouts_stand_as_all_days_of_the_panel(
    owner: Client, acme: ApiClient, november: Statement, monkeypatch: pytest.MonkeyPatch
) -> None:
    [kept] = november.payouts
    days = [("2026-11-10", None), ("2026-11-10", "2026-11-11")]
    made = Statement(payouts=[kept | {"sent": sent, "arrived": there} for sent, there in days])
    read_from = statement_rows.payouts
    monkeypatch.setattr(statement_rows, "payouts", lambda _row: read_from(made))

    page = read(owner, acme, "statement", "2026-11-try")

    cells = re.findall(r'<td data-name="(?:Sent|Arrived)">([^<]*)</td>', page)
    assert cells == ["10 Nov 2026", "–", "10 Nov 2026", "11 Nov 2026"]


def test_the_list_has_the_running_months_opening_and_says_when_the_rest_is_known(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    page = read(owner, acme, "statements")

    running = page.partition("December 2026")[2].partition("</tr>")[0]
    assert f"₺{november.closing / 100:,.2f}" in running
    assert "when the month is over" in running
    assert "when the month is over" not in page.partition("November 2026")[2]


def test_the_first_month_opens_with_nothing(owner: Client, acme: ApiClient) -> None:
    Till(acme.merchant).topup(7_00)

    assert "₺0.00" in read(owner, acme, "statements")


def test_the_running_month_is_provisional_and_ties_with_the_balance(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    Till(acme.merchant).topup(7_00)

    page = read(owner, acme, "statement", "2026-12-try")

    answer = acme.get("/v1/balance")
    both = answer["available"][0]["amount"] + answer["pending"][0]["amount"]
    assert "Provisional statement" in page
    assert f"₺{both / 100:,.2f}" in page
    assert "‹ November" in page


def exported(client: Client, acme: ApiClient, name: str) -> bytes:
    answer: Any = client.post(address("export_statement", acme.merchant.id, name))
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    return b"".join(answer.streaming_content)


def test_the_file_has_the_rows_and_stays_the_same_to_the_byte(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    before = exported(owner, acme, "2026-11-try")
    Till(acme.merchant).topup(7_00)
    Merchant.objects.filter(pk=acme.merchant.pk).update(timezone="America/New_York")

    after = exported(owner, acme, "2026-11-try")

    rows = list(csv.DictReader(StringIO(after.decode("utf-8-sig"))))
    by_line = {row["line"]: row for row in rows}
    assert before == after
    assert int(by_line["closing"]["net"]) == november.closing
    assert int(by_line["opening"]["net"]) + int(by_line["change"]["net"]) == november.closing
    assert by_line["of_payouts"]["amount"] == "-9000"
    assert {row["statement"] for row in rows} == {"final"}


@pytest.mark.parametrize(
    "name",
    ["2026-10-try", "2027-01-try", "2026-13-try", "2026-00-try", "0000-01-try", "2026-11-usd",
     "2026-11", "9999-12-try", "2026-11-TRY", "x"],
)  # fmt: skip
def test_a_month_without_a_statement_is_unknown(
    owner: Client, acme: ApiClient, november: Statement, name: str
) -> None:
    for page in ("statement", "export_statement"):
        assert owner.get(address(page, acme.merchant.id, name)).status_code == 404


def test_before_any_movement_there_is_none(owner: Client, acme: ApiClient) -> None:
    assert "No statement yet" in read(owner, acme, "statements")
    assert owner.get(address("statement", acme.merchant.id, "2026-11-try")).status_code == 404


def test_a_statement_takes_few_statements_of_the_database(
    owner: Client, acme: ApiClient, november: Statement
) -> None:
    for name in ("2026-11-try", "2026-12-try"):
        url = address("statement", acme.merchant.id, name)
        owner.get(url)
        with CaptureQueriesContext(connection) as statements:
            owner.get(url)

        asked = [one for one in statements if not one["sql"].startswith(CONTROL)]
        print(f"{name}: {len(asked)} statements")  # noqa: T201
        assert len(asked) <= 15


def test_a_change_of_zone_is_said(owner: Client, acme: ApiClient, november: Statement) -> None:
    Merchant.objects.filter(pk=acme.merchant.pk).update(timezone="America/New_York")

    running = read(owner, acme, "statement", "2026-12-try")
    final = read(owner, acme, "statement", "2026-11-try")

    assert "8 hours longer than the month" in running
    assert "From 1 Nov 2026 00:00 to 1 Dec 2026 00:00 (Europe/Istanbul)" in final
