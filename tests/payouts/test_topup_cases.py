"""Transfers that no topup waits for: cases, out of which an operator leads."""

from typing import Any

import pytest
from django.urls import reverse

from audit import incoming
from merchants.models import User
from payouts.topups import operators
from payouts.topups.models import Topup
from payouts.topups.refusals import TransferDecided
from testbank import decisions
from testbank.models import IncomingMove
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.threads import together
from tests.stage.topups import TOPUPS, awaited, case, sent, status, taken_back, told
from tests.stage.transfers import balance

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHY = "The sender called."


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return acme


@pytest.fixture
def desk() -> Desk:
    return Desk(
        "money@example.com", "topups.decide_transfer", "topups.add_topup",
        "topups.view_incomingtransfer", "topups.view_topup",
    )  # fmt: skip


def assign(desk: Desk, reference: str, goes_to: str) -> Any:
    form = {"goes_to": goes_to, "why": WHY}
    return desk.post("topups_incomingtransfer_assign", case(reference).pk, form=form)


def send_back(desk: Desk, reference: str) -> Any:
    return desk.post("topups_incomingtransfer_send_back", case(reference).pk, form={"why": WHY})


def test_one_is_assigned_to_the_topup_that_waits(shop: ApiClient, desk: Desk) -> None:
    made, reference = awaited(shop), sent("the reference was forgotten")

    answer = assign(desk, reference, made["id"])

    assert answer.status_code == 302
    assert (status(made["id"]), balance(shop)) == ("succeeded", 5000)
    decided = case(reference)
    assert (decided.status, decided.topup_id) == ("assigned", made["id"])
    assert (decided.decided_by, decided.reason) == (desk.person, WHY)
    assert_audit_is_clean()


def test_one_is_assigned_to_a_merchant_as_a_topup_of_its_own(shop: ApiClient, desk: Desk) -> None:
    reference = sent("?", 777)

    assign(desk, reference, shop.merchant.id)

    [topup] = shop.get(TOPUPS)["data"]
    assert (topup["status"], topup["amount"]) == ("succeeded", 777)
    assert (topup["initiated_by"], balance(shop)) == ("operator", 777)
    assert told(shop, topup["id"]) == ["succeeded"]
    taken_back(reference)
    assert (status(topup["id"]), balance(shop)) == ("reversed", 0)
    assert_audit_is_clean()


def test_one_that_was_sent_back_books_nothing(shop: ApiClient, desk: Desk) -> None:
    reference = sent("?")

    send_back(desk, reference)

    assert (case(reference).status, balance(shop)) == ("sent_back", 0)
    assert incoming.check().decided
    taken_back(reference)
    assert (case(reference).status, incoming.check().decided) == ("reversed", [])
    assert_audit_is_clean()


def test_what_an_operator_has_not_decided_is_listed_by_the_audit(shop: ApiClient) -> None:
    sent("?")

    found = incoming.check()

    assert (len(found.unknown), found.differences) == (1, [])


@pytest.mark.parametrize("goes_to", ["tu_unknown", "mer_unknown", "other amount", "canceled"])
def test_one_that_does_not_fit_is_refused(goes_to: str, shop: ApiClient, desk: Desk) -> None:
    reference = sent("?")
    if goes_to == "other amount":
        goes_to = awaited(shop, 4999)["id"]
    elif goes_to == "canceled":
        goes_to = awaited(shop)["id"]
        shop.post(f"{TOPUPS}/{goes_to}/cancel")

    answer = assign(desk, reference, goes_to)

    assert answer.status_code == 400
    assert (case(reference).status, balance(shop)) == ("unmatched", 0)


def test_what_is_decided_is_not_decided_again(shop: ApiClient, desk: Desk) -> None:
    reference = sent("?")
    send_back(desk, reference)

    answer = assign(desk, reference, shop.merchant.id)

    assert (answer.status_code, balance(shop)) == (400, 0)


def test_others_may_not_decide(shop: ApiClient) -> None:
    reference = sent("?")
    reader = Desk("reader@example.com", "topups.view_incomingtransfer")

    for answer in (
        assign(reader, reference, shop.merchant.id),
        send_back(reader, reference),
        reader.post("topups_topup_make", form={}),
    ):
        assert answer.status_code == 403


def test_an_operator_makes_a_topup(shop: ApiClient, desk: Desk) -> None:
    form = {"merchant": shop.merchant.id, "amount": 500, "currency": "try", "why": WHY}

    desk.send("topups_topup_make", form=form)

    made = Topup.objects.get()
    assert (made.status, made.initiated_by) == ("pending", "operator")
    assert desk.http.get(reverse("admin:topups_topup_changelist")).status_code == 200


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_two_operators_at_once_are_one(shop: ApiClient) -> None:
    operator = User.objects.create_superuser("a@example.com", "a long enough password")
    transfer = case(sent("?"))

    def deciding() -> Any:
        try:
            operators.assign(operator, transfer, goes_to=shop.merchant.id, reason=WHY)
        except TransferDecided:
            return "too late"

    told = together([deciding] * 4)

    assert told.count("too late") == 3
    assert (balance(shop), Topup.objects.count()) == (5000, 1)
    assert_our_own_books_agree()


# --- The audit --------------------------------------------------------------------------------


def test_what_the_bank_has_otherwise_is_found(shop: ApiClient) -> None:
    made = awaited(shop)
    sent(made["source"]["reference"])
    row = IncomingMove.objects.get().incoming
    IncomingMove.objects.create(incoming=row, amount=-1, created_at=row.created_at)

    found = incoming.check()

    assert len(found.differences) == 1
    assert row.reference in found.differences[0]


def test_what_the_bank_has_taken_back_and_not_told_yet_is_no_difference(shop: ApiClient) -> None:
    made = awaited(shop)
    reference = sent(made["source"]["reference"])
    decisions.take_back(reference)

    found = incoming.check()

    assert (found.differences, len(found.unknown)) == ([], 1)
