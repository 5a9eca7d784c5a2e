"""Terminals and routes at the desk: set up, tried, drained; no secret is shown or kept."""

import pytest

from acquirers.models import Route, Terminal
from acquirers.terminals import credentials_of
from merchants.models import AuditEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.factories import DECLINED_CARD

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

SECRET, OTHER = "s3cret-of-the-bank", "another-s3cret"
WHY = {"why": "A new contract."}
SILENT = "4000001100000033"


@pytest.fixture
def desk(bank: BankTransport) -> Desk:
    return Desk()


@pytest.fixture
def added(desk: Desk) -> Terminal:
    answer = add(desk)
    assert answer.status_code == 303, answer.content
    return Terminal.objects.get(name="isbank")


def add(desk: Desk, **typed: str) -> object:
    form = {"name": "isbank", "currencies": "try", "value_signing_key": SECRET, **WHY, **typed}
    return desk.http.post("/admin/desk/terminals/add/?kind=sandbox", form)


def test_a_terminal_is_added_with_its_kinds_fields(desk: Desk, added: Terminal) -> None:
    assert credentials_of(added) == {"signing_key": SECRET}
    assert (added.currencies, added.status) == (["try"], "enabled")
    [row] = AuditEntry.objects.filter(action="terminal.added")
    assert (row.actor, row.reason) == ("operator", WHY["why"])
    pages = [desk.get("desk_terminals"), desk.get("desk_terminal_add")]
    pages += [desk.get(f"desk_terminal{of}", added.pk) for of in ("", "_replace")]
    assert [page.status_code for page in pages] == [200] * 4
    assert SECRET not in "".join(page.content.decode() for page in pages) + str(row.after)


@pytest.mark.parametrize(
    "wrong",
    [{"name": "Is Bank"}, {"currencies": "try, xxx"}, {"brands": "none"}, {"merchant": "mer_x"},
     {"value_signing_key": "ş"}, {"value_api_url": "ftp://bank"}, {"why": ""},
     {"name": "sandbox"}],
)  # fmt: skip
def test_what_is_wrong_is_said_and_no_secret_comes_back(desk: Desk, wrong: dict[str, str]) -> None:
    answer = add(desk, **wrong)

    assert answer.status_code == 400
    assert SECRET not in answer.content.decode()
    assert not Terminal.objects.filter(name="isbank").exists()


def test_an_unknown_kind_is_refused(desk: Desk) -> None:
    assert desk.http.get("/admin/desk/terminals/add/?kind=nobank").status_code == 400


def test_values_are_replaced_whole(desk: Desk, added: Terminal) -> None:
    form = {"value_signing_key": OTHER, "brands": "visa", "currencies": ""}
    answer = desk.send("desk_terminal_replace", added.pk, form={**form, **WHY})

    added.refresh_from_db()
    assert answer.status_code == 303
    assert credentials_of(added) == {"signing_key": OTHER}
    assert (added.currencies, added.brands) == ([], ["visa"])


def test_it_is_drained_disabled_and_enabled_with_a_reason(desk: Desk, added: Terminal) -> None:
    for act, status in (("drain", "draining"), ("disable", "disabled"), ("enable", "enabled")):
        assert desk.send("desk_terminal_move", added.pk, act, form=WHY).status_code == 303
        added.refresh_from_db()
        assert added.status == status
    actions = AuditEntry.objects.filter(subject=added.pk).order_by("id")
    assert list(actions.values_list("action", "reason"))[1:] == [
        (f"terminal.{verb}", WHY["why"]) for verb in ("drained", "disabled", "enabled")
    ]
    assert desk.get("desk_terminal_move", added.pk, "delete").status_code == 404


def test_it_is_tried(desk: Desk, added: Terminal, bank: BankTransport) -> None:
    desk.post("desk_terminal_check", added.pk, form={})
    assert "The bank answers" in desk.get("desk_terminal", added.pk).content.decode()

    bank.fault = "garble"
    desk.post("desk_terminal_check", added.pk, form={})
    bank.fault = None
    assert "did not answer" in desk.get("desk_terminal", added.pk).content.decode()


def test_routes_are_added_and_removed(desk: Desk, added: Terminal, acme: ApiClient) -> None:
    rule = {"terminal": added.pk, "currency": "try", "domestic": "no", "installments_from": 2,
            "installments_to": 6, "priority": 7, "merchant": acme.merchant.id}  # fmt: skip
    assert desk.send("desk_route_add", form={**rule, **WHY}).status_code == 303
    route = Route.objects.get(terminal=added)
    assert str(route) == f"{acme.merchant.id} try foreign 2-6 at 7"

    alike = desk.send("desk_route_add", form={**rule, **WHY})
    assert alike.status_code == 400
    assert "different priorities" in alike.content.decode()

    assert desk.send("desk_route_remove", route.pk, form=WHY).status_code == 303
    assert not Route.objects.filter(terminal=added).exists()
    assert desk.get("desk_route_remove", route.pk).status_code == 404


def test_a_draining_terminal_gets_no_route(desk: Desk, added: Terminal) -> None:
    desk.send("desk_terminal_move", added.pk, "drain", form=WHY)
    rule = {"terminal": added.pk, "installments_from": 1, "priority": 1}

    assert desk.send("desk_route_add", form={**rule, **WHY}).status_code == 400


def test_the_page_shows_how_the_bank_answers(desk: Desk, acme: ApiClient) -> None:
    paid = acme.pay()
    acme.pay(DECLINED_CARD)
    acme.refund(paid["id"], 100)
    waiting = acme.pay(SILENT)

    page = desk.get("desk_terminal", Terminal.objects.get(name="sandbox").pk)

    facts, text = page.context["facts"], page.content.decode()
    assert (facts.attempts, facts.failures, facts.error_percent) == (3, 1, 33)
    assert facts.in_doubt.intent_id == waiting["id"]
    assert facts.day_ends_at is not None
    said = [(one.operation, one.answer) for one in facts.exchanges]
    assert ("refund", "approved") in said or ("void", "approved") in said, said
    assert ("authorization", "succeeded") in said
    assert ("authorization", "failed") in said
    assert paid["latest_attempt"] in text


@pytest.mark.parametrize("name", ["desk_terminal_add", "desk_route_add"])
def test_a_reader_sees_terminals_and_changes_none(bank: BankTransport, name: str) -> None:
    desk = Desk("reader@example.com", "acquirers.view_terminal")

    page = desk.get("desk_terminals")

    assert page.status_code == 200
    assert "Add a terminal" not in page.content.decode()
    assert desk.get(name).status_code == 403
