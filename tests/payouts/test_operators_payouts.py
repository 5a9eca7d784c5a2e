"""Payouts and topups by operators: made once, called off, each with a reason."""

from typing import Any

import pytest
from django.urls import reverse

from core import ids
from core.errors import SentBefore
from merchants import accounts
from merchants.models import AuditEntry
from payouts import operators
from payouts.creation import Wanted
from payouts.models import Payout
from payouts.topups.models import Topup
from tests.stage.audited import assert_audit_is_clean, assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.desk import HIDDEN, Desk
from tests.stage.threads import together
from tests.stage.topups import awaited, case, come_after, status, told, top_up
from tests.stage.topups import sent as transferred
from tests.stage.transfers import (
    PAYOUTS,
    account,
    at_the_bank,
    balance,
    hear_after,
    rich,
    sent,
    shown,
)
from tests.stage.transfers import told as told_of_payout

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WHY = "They asked by letter."


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    return rich(acme, 10_000)


@pytest.fixture
def desk() -> Desk:
    return Desk(
        "money@example.com", "payouts.add_payout", "payouts.change_payout", "payouts.view_payout",
        "topups.add_topup", "topups.change_topup", "topups.view_topup",
    )  # fmt: skip


def form(shop: ApiClient, **typed: Any) -> dict[str, Any]:
    return {"merchant": shop.merchant.id, "amount": 4000, "currency": "try", "why": WHY, **typed}


def make(desk: Desk, shop: ApiClient, **typed: Any) -> Any:
    return desk.send("payouts_payout_make", form=form(shop, **typed))


def test_one_is_made_and_goes_the_way_of_all_others(shop: ApiClient, desk: Desk) -> None:
    assert make(desk, shop).status_code == 302

    [payout] = shop.get(PAYOUTS)["data"]
    assert (payout["status"], payout["amount"], payout["automatic"]) == ("pending", 4000, False)
    assert (payout["destination"], balance(shop)) == ("main", 6000)
    sent(payout["id"])
    hear_after(5)
    assert (shown(shop, payout["id"])["status"], at_the_bank()) == ("paid", [(4000, "paid", 4000)])
    assert told_of_payout(shop, payout["id"]) == ["created", "paid"]
    [row] = AuditEntry.objects.filter(action="payout.created")
    assert (row.subject, row.reason, row.actor_name) == (payout["id"], WHY, desk.person.email)
    assert_audit_is_clean()


def test_it_goes_to_the_account_that_is_named(shop: ApiClient, desk: Desk) -> None:
    account(shop.merchant, "kasa", is_default=False)

    make(desk, shop, destination="kasa")

    assert Payout.objects.get().destination == "kasa"


@pytest.mark.parametrize(
    ("typed", "at"),
    [
        ({"amount": 10_001}, "amount"), ({"amount": 0}, "amount"), ({"amount": 2**63}, "amount"),
        ({"currency": "xxx"}, "currency"), ({"destination": "unknown"}, "destination"),
        ({"merchant": "mer_unknown"}, "merchant"), ({"why": " "}, "why"),
        ({"why": "card 4242 4242 4242 4242"}, "why"), ({"act": "po_1:forged"}, "act"),
    ],
)  # fmt: skip
def test_a_form_that_cannot_be_is_shown_again(
    typed: dict[str, Any], at: str, shop: ApiClient, desk: Desk
) -> None:
    answer = make(desk, shop, **typed)

    assert answer.status_code == 400
    assert at in answer.context["form"].errors
    assert (Payout.objects.count(), balance(shop)) == (0, 10_000)


def test_a_form_that_is_sent_twice_makes_one(shop: ApiClient, desk: Desk) -> None:
    page = desk.get("payouts_payout_make").content.decode()
    twice = {**dict(HIDDEN.findall(page)), **form(shop)}

    answers = [desk.post("payouts_payout_make", form=twice) for _ in range(2)]
    other = desk.post("payouts_payout_make", form={**twice, "amount": 4001})

    assert [answer.status_code for answer in answers] == [302, 302]
    assert (other.status_code, Payout.objects.count(), balance(shop)) == (400, 1, 6000)
    assert "sent before" in other.content.decode()


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_the_same_act_at_once_is_one(shop: ApiClient) -> None:
    operator, payout_id = Desk().person, ids.new("po")

    def act(amount: int) -> Any:
        def call() -> str:
            try:
                wanted = Wanted(amount, "try")
                operators.create(
                    operator, shop.merchant.id, wanted, payout_id=payout_id, reason=WHY
                )
            except SentBefore:
                return "sent before"
            return "made"

        return call

    said = together([act(1000), act(1000), act(1000), act(2000)])

    assert Payout.objects.count() == 1
    assert said.count("made") in (1, 3)
    assert balance(shop) == 10_000 - Payout.objects.get().amount
    assert_our_own_books_agree()


def test_a_pending_one_is_called_off(shop: ApiClient, desk: Desk) -> None:
    make(desk, shop)
    payout = Payout.objects.get()

    answer = desk.post("payouts_payout_cancel", payout.pk, form={"why": WHY})

    assert answer.status_code == 302
    assert (shown(shop, payout.pk)["status"], balance(shop)) == ("canceled", 10_000)
    [row] = AuditEntry.objects.filter(action="payout.canceled")
    assert (row.before, row.after) == ({"status": "pending"}, {"status": "canceled"})
    assert_audit_is_clean()


def test_what_has_left_is_not_called_off(shop: ApiClient, desk: Desk) -> None:
    make(desk, shop)
    payout = Payout.objects.get()
    sent(payout.pk)

    answer = desk.post("payouts_payout_cancel", payout.pk, form={"why": WHY})

    assert (answer.status_code, balance(shop)) == (400, 6000)
    assert "only a pending one" in answer.content.decode()


def test_pages_lead_to_what_can_be_done(shop: ApiClient, desk: Desk) -> None:
    make(desk, shop)
    payout = Payout.objects.get()
    cancel = reverse("admin:payouts_payout_cancel", args=[payout.pk])

    assert "Make a payout" in desk.get("payouts_payout_changelist").content.decode()
    assert cancel in desk.get("payouts_payout_change", payout.pk).content.decode()
    sent(payout.pk)
    assert cancel not in desk.get("payouts_payout_change", payout.pk).content.decode()


def test_others_may_neither_make_nor_call_off(shop: ApiClient, desk: Desk) -> None:
    make(desk, shop)
    reader = Desk("reader@example.com", "payouts.view_payout", "topups.view_topup")
    payout, topup = Payout.objects.get().pk, awaited(shop)["id"]

    for answer in (
        reader.post("payouts_payout_make", form=form(shop)),
        reader.post("payouts_payout_cancel", payout, form={"why": WHY}),
        reader.post("topups_topup_cancel", topup, form={"why": WHY}),
    ):
        assert answer.status_code == 403
    assert b"Make a payout" not in reader.get("payouts_payout_changelist").content
    assert (Payout.objects.count(), balance(shop)) == (1, 6000)


@pytest.mark.parametrize("changes", [{"status": "restricted"}, {"payouts_enabled": False}], ids=str)
def test_an_account_that_may_have_none_is_refused(
    changes: dict[str, Any], shop: ApiClient, desk: Desk
) -> None:
    accounts.change(shop.merchant, changes)

    answer = make(desk, shop)

    assert (answer.status_code, Payout.objects.count()) == (400, 0)
    assert "cannot be paid out" in answer.content.decode()


def test_what_a_closed_account_has_is_paid_out_by_an_operator(shop: ApiClient, desk: Desk) -> None:
    accounts.change(shop.merchant, {"status": "closed", "payouts_enabled": False})
    assert shop.post(PAYOUTS, {"amount": 1, "currency": "try"}).status == 403

    assert make(desk, shop, amount=10_000).status_code == 302

    made = Payout.objects.get()
    sent(made.pk)
    hear_after(5)
    assert (shown(shop, made.pk)["status"], balance(shop)) == ("paid", 0)


def test_without_a_bank_that_pays_out_nothing_is_stored(
    shop: ApiClient, desk: Desk, settings: Any
) -> None:
    settings.TRANSFERS = ""

    answer = make(desk, shop)

    assert (answer.status_code, Payout.objects.count(), balance(shop)) == (400, 0, 10_000)


# --- Topups -----------------------------------------------------------------------------------


def test_a_topup_form_that_is_sent_twice_makes_one(shop: ApiClient, desk: Desk) -> None:
    page = desk.get("topups_topup_make").content.decode()
    twice = {**dict(HIDDEN.findall(page)), **form(shop)}
    before = Topup.objects.count()

    answers = [desk.post("topups_topup_make", form=twice) for _ in range(2)]
    other = desk.post("topups_topup_make", form={**twice, "currency": "usd"})

    assert [answer.status_code for answer in answers] == [302, 302]
    assert (other.status_code, Topup.objects.count()) == (400, before + 1)


def test_a_topup_that_nobody_pays_is_called_off_and_what_comes_late_is_a_case(
    shop: ApiClient, desk: Desk
) -> None:
    made = awaited(shop)

    answer = desk.post("topups_topup_cancel", made["id"], form={"why": WHY})

    assert answer.status_code == 302
    assert (status(made["id"]), told(shop, made["id"])) == ("canceled", ["updated"])
    reference = transferred(made["source"]["reference"])
    assert (case(reference).status, balance(shop)) == ("unmatched", 10_000)


def test_a_topup_that_has_come_is_not_called_off(shop: ApiClient, desk: Desk) -> None:
    made = top_up(shop)
    come_after(5)

    answer = desk.post("topups_topup_cancel", made["id"], form={"why": WHY})

    assert (answer.status_code, status(made["id"])) == (400, "succeeded")
