"""Work, the first page of the operators: one list, taken on and given back by one at a time."""

from functools import partial
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acquirers.models import Terminal
from cases import cases, work
from cases.models import Case, TakenWork
from cases.refusals import CaseChanged, TakenMeanwhile
from cases.work import Piece
from merchants.models import AuditEntry, User
from payments.intents.models import PaymentIntent
from payouts.models import Payout
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.teams import let_in
from tests.stage.threads import together
from tests.stage.topups import sent
from tests.stage.undecided import a_case_of
from tests.stage.waiting_work import (
    a_failed_run,
    a_late_payout,
    a_review,
    a_silent_terminal,
    work_of_every_kind,
)

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

KINDS = ("case", "review", "transfer", "payout", "terminal", "difference", "run")
QUERIES_MAX = 20


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return acme


def text(answer: Any) -> str:
    return unescape(answer.content.decode())


@pytest.fixture
def everything(shop: ApiClient) -> dict[str, str]:
    """Return the name of a piece of work of each kind."""
    return work_of_every_kind(shop)


def rows_of(desk: Desk, **query: Any) -> dict[str, Any]:
    found = desk.get("desk_work", **query).context["rows"]
    return {row.item.kind: row for row in found}


def test_all_kinds_of_work_stand_in_one_list(desk: Desk, everything: dict[str, str]) -> None:
    found = desk.get("desk_work").context["rows"]

    assert {row.item.kind: row.item.subject for row in found} == everything
    assert len(found) == len(KINDS)
    ages = [row.item.age for row in found]
    assert ages == sorted(ages, reverse=True)
    for row in found:
        assert desk.http.get(row.item.url).status_code == 200, row.item.kind


def test_it_is_the_first_page_of_the_operators(desk: Desk, everything: dict[str, str]) -> None:
    home = desk.http.get("/admin/")

    assert home.context["title"] == "Work"
    assert [link.name for link in home.context["desk_links"] if link.is_current] == ["Work"]
    assert "Payment intents" in text(desk.http.get("/admin/tables/"))


def test_a_piece_is_taken_on_and_given_back(desk: Desk, everything: dict[str, str]) -> None:
    for kind, subject in everything.items():
        assert desk.post("desk_work_take", kind, subject, form={}).status_code == 303, kind
        assert rows_of(desk, owner="mine")[kind].is_mine, kind
        assert kind not in rows_of(desk, owner="nobody"), kind

        assert desk.post("desk_work_give_back", kind, subject, form={}).status_code == 303, kind
        assert kind not in rows_of(desk, owner="mine"), kind
        assert rows_of(desk, owner="nobody")[kind].holder is None, kind
    actions = AuditEntry.objects.filter(actor_id=str(desk.person.pk)).order_by("created_at")
    told = [row.action for row in actions if row.action.startswith(("work.", "case."))]
    assert told[:4] == ["case.assigned", "case.assigned", "work.taken", "work.given_back"]
    assert len(told) == 2 * len(KINDS)


def test_the_second_of_two_sees_who_has_it(desk: Desk, everything: dict[str, str]) -> None:
    other = Desk("other@example.com")
    for kind, subject in everything.items():
        assert desk.post("desk_work_take", kind, subject, form={}).status_code == 303

        refused = other.post("desk_work_take", kind, subject, form={})

        assert refused.status_code == 409, kind
        assert f"{desk.person} has it" in text(refused)
        assert rows_of(other)[kind].holder == desk.person
        assert other.post("desk_work_give_back", kind, subject, form={}).status_code == 409
        # Having seen that, they may take it over.
        assert other.send("desk_work_take", kind, subject).status_code == 303
        assert rows_of(other)[kind].is_mine


def test_the_same_act_twice_leaves_one_row(desk: Desk, everything: dict[str, str]) -> None:
    for _ in range(2):
        desk.post("desk_work_take", "payout", everything["payout"], form={})
    for _ in range(2):
        desk.post("desk_work_give_back", "payout", everything["payout"], form={})

    rows = AuditEntry.objects.filter(action__startswith="work.").order_by("sequence")
    assert [row.action for row in rows] == ["work.taken", "work.given_back"]
    assert {row.merchant_id for row in rows} == {Payout.objects.get().merchant_id}
    assert [row.after for row in rows] == [{"owner": desk.person.pk}, {"owner": None}]


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
@pytest.mark.parametrize("kind", ["case", "payout"])
def test_of_many_at_once_one_has_it(shop: ApiClient, kind: str) -> None:
    make = {"case": lambda: a_case_of(shop.pay()["id"]).id, "payout": lambda: a_late_payout(shop)}
    piece = Piece(kind, make[kind](), cases.RESOLVE, shop.merchant)
    people = [
        User.objects.create_superuser(f"{number}@example.com", "a long enough password")
        for number in range(4)
    ]

    def take(person: User) -> str:
        try:
            work.take(person, piece)
        except TakenMeanwhile as refusal:
            return refusal.text
        return "taken"

    told = together([partial(take, person) for person in people])

    holder = Case.objects.get().owner if kind == "case" else TakenWork.objects.get().by
    assert sorted(told).count("taken") == 1
    assert sum(str(holder) in one for one in told) == len(people) - 1


@pytest.mark.django_db(databases=["default", "bank"], transaction=True)
def test_a_case_that_was_resolved_meanwhile_is_not_taken_on(shop: ApiClient) -> None:
    person = User.objects.create_superuser("one@example.com", "a long enough password")
    case = a_case_of(shop.pay()["id"])
    piece = Piece("case", case.id, cases.RESOLVE, shop.merchant)
    cases.acknowledge(person, case.id, reason="Looked at by telephone.", seen=case.version)

    with pytest.raises(CaseChanged):
        work.take(person, piece)

    assert Case.objects.get().owner is None


def test_auditors_see_it_without_buttons(client: Any, everything: dict[str, str]) -> None:
    auditor = User.objects.create_user("auditor@example.com", "a long password", is_staff=True)
    auditor.groups.add(Group.objects.get(name="auditors"))
    let_in(client, auditor)

    shown = client.get("/admin/desk/work/")

    assert {row.item.kind for row in shown.context["rows"]} == set(KINDS)
    assert "Take on" not in text(shown)
    for kind, subject in everything.items():
        refused = client.post(f"/admin/desk/work/{kind}/{subject}/take/")
        assert refused.status_code == 403, kind
    assert TakenWork.objects.count() == 0


def test_kinds_that_a_person_may_not_see_are_hidden(everything: dict[str, str]) -> None:
    desk = Desk("few@example.com", "cases.view_case", "cases.resolve_case")

    assert set(rows_of(desk)) == {"case"}
    assert desk.get("desk_work_take", "payout", everything["payout"]).status_code == 404


def test_the_filters_narrow_the_list(
    desk: Desk, everything: dict[str, str], globex: ApiClient
) -> None:
    merchant = Payout.objects.get().merchant_id

    assert set(rows_of(desk, kind="payout")) == {"payout"}
    assert set(rows_of(desk, merchant=merchant)) == {"case", "review", "payout", "difference"}
    assert rows_of(desk, merchant=globex.merchant.id) == {}
    assert desk.get("desk_work", kind="nonsense").status_code == 400
    assert desk.get("desk_work", page=40).context["rows"] == []


@pytest.mark.parametrize(
    ("kind", "subject"),
    [("transfer", "x"), ("transfer", "9" * 30), ("nonsense", "1"), ("case", "case_1\x00"),
     ("run", "audit_2001-01-01"), ("terminal", "t")],
)  # fmt: skip
def test_what_is_no_open_work_is_not_found(desk: Desk, kind: str, subject: str) -> None:
    assert desk.get("desk_work_take", kind, subject).status_code == 404


def test_what_is_done_leaves_the_list(
    desk: Desk, everything: dict[str, str], shop: ApiClient
) -> None:
    shop.post(f"/v1/payouts/{everything['payout']}/cancel")
    PaymentIntent.objects.filter(id=everything["review"]).update(fraud=None)

    assert set(rows_of(desk)) == set(KINDS) - {"payout", "review"}


def test_the_page_costs_few_statements(desk: Desk, shop: ApiClient) -> None:
    for _ in range(6):
        a_case_of(shop.pay()["id"])
        a_review(shop)
        sent("?")
    a_silent_terminal(shop)
    a_failed_run()
    Terminal.objects.update(merchant=None)

    with CaptureQueriesContext(connection) as made:
        assert len(desk.get("desk_work").context["rows"]) == 20

    assert len(made) <= QUERIES_MAX
