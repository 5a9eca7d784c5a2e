"""The parts of a settlement as a CSV file."""

import csv
import io
from typing import Any

import pytest
from django.test import Client

from ledger.models import Run
from merchants.models import AuditEntry
from panel.merchants import settlement_exports
from tests.stage.book_keeping import Till
from tests.stage.client import ApiClient
from tests.stage.panel_pages import address
from tests.stage.teams import person, signed_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def till(acme: ApiClient) -> Till:
    return Till(acme.merchant)


@pytest.fixture
def owner(acme: ApiClient) -> Client:
    return signed_in(person("ada@acme.example", (acme.merchant, "owner")))


def at(run: Run) -> str:
    return address("export_settlement", run.merchant_id, run.id)


def settled(till: Till, days: int = 1) -> Run:
    run = till.settle(days=days)
    assert run
    return run


def read(answer: Any) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.content
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_part_is_a_row_and_they_sum_to_the_settlement(
    owner: Client, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement_exports, "PAGE_ROWS", 2)
    charges = [till.charge(10_001, parts=3), *(till.charge(1000) for _ in range(4))]
    till.refund(charges[1], 400)
    run = settled(till)

    rows = read(owner.post(at(run)))

    assert [int(row["settled"]) for row in rows] == [3335, 1000, 1000, 1000, 1000, -400]
    assert sum(int(row["settled"]) for row in rows) == run.amount
    first, last = rows[0], rows[-1]
    assert (first["id"], first["type"], first["settled_major"]) == (
        charges[0].id, "charge", "33.35",
    )  # fmt: skip
    assert (first["available_on"], first["net"]) == (str(run.date), "10001")
    assert (last["type"], last["settled_major"]) == ("refund", "-4.00")


def test_rows_are_the_balance_transactions_of_the_api(
    owner: Client, till: Till, acme: ApiClient
) -> None:
    till.charge(1000)
    run = settled(till)

    [row] = read(owner.post(at(run)))

    shown = acme.get(f"/v1/balance_transactions/{row['id']}")
    for name in ("type", "source", "currency", "amount", "fee", "net"):
        assert row[name] == str(shown[name]), name


def test_the_next_settlement_has_its_own_parts_alone(owner: Client, till: Till) -> None:
    till.charge(10_000, parts=3)
    settled(till)
    till.charge(500)
    run = settled(till, days=31)

    rows = read(owner.post(at(run)))

    assert sorted(int(row["settled"]) for row in rows) == [500, 3333]


def test_parts_that_cancel_out_are_in_the_file(owner: Client, till: Till) -> None:
    till.void(till.charge(700))
    run = settled(till)

    assert [row["settled"] for row in read(owner.post(at(run)))] == ["700", "-700"]


def test_the_page_says_how_many_rows_and_the_log_who_exported(owner: Client, till: Till) -> None:
    till.charge(1000)
    run = settled(till)

    page = owner.get(at(run)).content.decode()
    answer = owner.post(at(run))

    assert "<strong>1</strong>" in page
    name = f"settlement_{run.merchant_id}_{run.date:%Y%m%d}_try.csv"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    entry = AuditEntry.objects.get(action="export.made")
    assert (entry.subject, entry.after) == (run.id, {"rows": 1})
    assert len(read(answer)) == 1


def test_a_person_makes_one_export_at_a_time(owner: Client, till: Till) -> None:
    till.charge(1000)
    run = settled(till)
    first = owner.post(at(run))

    second = owner.post(at(run))

    assert second.status_code == 409
    assert len(read(first)) == 1
    assert len(read(owner.post(at(run)))) == 1


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a"])
def test_a_cell_cannot_be_a_formula(
    owner: Client, till: Till, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.charge(1000)
    run = settled(till)
    real = settlement_exports._cells
    monkeypatch.setattr(
        settlement_exports, "_cells", lambda entry: (*real(entry)[:2], text, *real(entry)[3:])
    )

    [row] = read(owner.post(at(run)))

    assert (row["source"], row["settled"]) == (f"'{text}", "1000")


def test_others_have_no_file(till: Till, acme: ApiClient, globex: ApiClient) -> None:
    till.charge(1000)
    run = settled(till)
    stranger = signed_in(person("eve@globex.example", (globex.merchant, "owner")))
    developer = signed_in(person("dev@acme.example", (acme.merchant, "developer")))
    their_own = address("export_settlement", globex.merchant.id, run.id)

    assert [stranger.post(url).status_code for url in (at(run), their_own)] == [404, 404]
    assert developer.post(at(run)).status_code == 403
    page = developer.get(address("settlement", acme.merchant.id, run.id)).content.decode()
    assert "Export CSV" not in page
