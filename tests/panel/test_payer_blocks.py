"""Support blocks a card or an e-mail for the merchant's account, and lets the payer in again."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from core import clock
from merchants.models import AuditEntry, User
from payments.risk import lists, own_blocks
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry
from payments.risk.own_blocks import BlockedByOperator
from tests.stage.client import ApiClient
from tests.stage.desk import Desk
from tests.stage.factories import GOOD_CARD, PaymentFactory
from tests.stage.teams import person, signed_in

pytestmark = [
    pytest.mark.usefixtures("bank"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

FORM = {"kind": "card", "reason": "Chargebacks", "token": "t"}


@pytest.fixture
def support(acme: ApiClient) -> Client:
    return signed_in(person("sue@acme.example", (acme.merchant, "support")))


def at(acme: ApiClient, payment_id: str, act: str = "") -> str:
    return f"/panel/{acme.merchant.id}/payments/{payment_id}{act}"


def failed_by(answer: Any) -> str | None:
    error: dict[str, str] | None = answer["last_payment_error"]
    return error["code"] if error else None


def test_a_blocked_card_is_refused_for_this_merchant_alone(
    support: Client, acme: ApiClient, globex: ApiClient
) -> None:
    paid = acme.pay()["id"]

    answer = support.post(at(acme, paid, "/block"), FORM)

    assert (answer.status_code, answer["Location"]) == (303, at(acme, paid))
    assert failed_by(acme.pay()) == "fraud_blocked"
    assert failed_by(globex.pay()) is None
    page = support.get(at(acme, paid)).content.decode()
    for shown in ("424242******4242", "Chargebacks", "sue@acme.example", "Let the payer in"):
        assert shown in page
    assert GOOD_CARD not in page
    [row] = AuditEntry.objects.filter(action="list_entry.added")
    assert (row.actor_name, row.reason, row.merchant) == (
        "sue@acme.example", "Chargebacks", acme.merchant,
    )  # fmt: skip


def test_an_email_is_blocked_until_the_end_of_a_day(support: Client, acme: ApiClient) -> None:
    paid = acme.pay()["id"]
    day = (clock.now() + timedelta(days=2)).date().isoformat()

    support.post(at(acme, paid, "/block"), {**FORM, "kind": "email", "until": day})

    entry = ListEntry.objects.get()
    assert entry.kind == "email"
    assert "until <time" in support.get(at(acme, paid)).content.decode()
    assert failed_by(acme.pay("5555555555554444")) == "fraud_blocked"
    clock.advance(timedelta(days=3))
    assert failed_by(acme.pay("5555555555554444")) is None
    assert "Chargebacks" not in support.get(at(acme, paid)).content.decode()


def test_the_payer_is_let_in_again_once(support: Client, acme: ApiClient) -> None:
    paid = acme.pay()["id"]
    support.post(at(acme, paid, "/block"), FORM)
    form = {"reason": "A mistake", "token": "u"}

    answers = [support.post(at(acme, paid, "/unblock"), form) for _ in range(2)]

    assert [one.status_code for one in answers] == [303, 303]
    assert failed_by(acme.pay()) is None
    [row] = AuditEntry.objects.filter(action="list_entry.removed")
    assert (row.reason, row.after) == ("A mistake", None)
    assert support.get(at(acme, paid, "/unblock")).status_code == 404


def test_the_same_form_twice_blocks_once(support: Client, acme: ApiClient) -> None:
    paid = acme.pay()["id"]

    for _ in range(2):
        support.post(at(acme, paid, "/block"), FORM)

    assert AuditEntry.objects.filter(action="list_entry.added").count() == 1


def blocked_at_the_desk(acme: ApiClient) -> tuple[str, Desk]:
    """Return a payment whose card an operator has blocked, and the operator's desk."""
    paid, desk = acme.pay()["id"], Desk()
    form = {"list": "block", "kind": "card", "value": paid, "why": "Stolen."}
    desk.send("desk_list_add", form=form)
    return paid, desk


def test_what_we_have_blocked_is_neither_shortened_nor_taken_away(
    support: Client, acme: ApiClient
) -> None:
    paid, desk = blocked_at_the_desk(acme)
    tomorrow = (clock.now() + timedelta(days=1)).date().isoformat()

    refused = support.post(at(acme, paid, "/block"), {**FORM, "until": tomorrow})

    assert refused.status_code == 400
    assert "We have blocked it ourselves" in refused.content.decode()
    assert support.get(at(acme, paid, "/unblock")).status_code == 404
    entry = ListEntry.objects.get()
    assert (entry.reason, entry.expires_at) == ("Stolen.", None)
    page = support.get(at(acme, paid)).content.decode()
    assert "Blocked:" in page
    assert desk.person.email not in page


def test_our_block_stays_when_its_author_is_no_operator_any_more(
    support: Client, acme: ApiClient
) -> None:
    paid, desk = blocked_at_the_desk(acme)
    User.objects.filter(pk=desk.person.pk).update(is_staff=False)

    changed = support.post(at(acme, paid, "/block"), FORM)

    assert changed.status_code == 400
    assert support.get(at(acme, paid, "/unblock")).status_code == 404
    assert desk.person.email not in support.get(at(acme, paid)).content.decode()
    with pytest.raises(BlockedByOperator):
        own_blocks.let_in(acme.merchant, ListEntry.objects.get().pk, reason="Ours")


def test_a_teams_block_stays_theirs_when_its_author_becomes_an_operator(
    support: Client, acme: ApiClient
) -> None:
    paid = acme.pay()["id"]
    support.post(at(acme, paid, "/block"), FORM)
    User.objects.filter(email="sue@acme.example").update(is_staff=True)
    colleague = signed_in(person("joe@acme.example", (acme.merchant, "support")))

    shown = colleague.get(at(acme, paid)).content.decode()
    changed = colleague.post(at(acme, paid, "/block"), {**FORM, "token": "u"})
    let_in = colleague.post(at(acme, paid, "/unblock"), {"reason": "A mistake", "token": "v"})

    assert "sue@acme.example" in shown
    assert (changed.status_code, let_in.status_code) == (303, 303)
    assert failed_by(acme.pay()) is None


@pytest.mark.parametrize("is_noted", [True, False])
def test_the_audit_log_says_whose_an_entry_of_an_earlier_release_is(
    support: Client, acme: ApiClient, is_noted: bool
) -> None:
    paid = acme.pay()["id"]
    support.post(at(acme, paid, "/block"), FORM)
    form = {"list": "block", "kind": "email", "value": "ann@example.com", "why": "Stolen."}
    desk = Desk()
    desk.send("desk_list_add", form={**form, "merchant": acme.merchant.id})
    ListEntry.objects.update(by_operator=None)
    if is_noted:
        User.objects.filter(pk=desk.person.pk).update(is_staff=False)
        User.objects.filter(email="sue@acme.example").update(is_staff=True)
        import_module("payments.risk.migrations.0003_doors_of_entries").note_doors(apps, None)

    whose = {row.kind: row.is_operators() for row in ListEntry.objects.all()}

    assert whose == {"card": False, "email": True}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reason", ""), ("reason", " "), ("reason", "x" * 501), ("reason", GOOD_CARD),
        ("kind", ""), ("kind", "bin"), ("until", "2020-01-01"), ("until", "tomorrow"),
        ("until", "9999-12-31"),
    ],
)  # fmt: skip
def test_a_form_that_means_nothing_blocks_nobody(
    support: Client, acme: ApiClient, field: str, value: str
) -> None:
    paid = acme.pay()["id"]

    answer = support.post(at(acme, paid, "/block"), {**FORM, field: value})

    assert answer.status_code == 400
    assert GOOD_CARD not in answer.content.decode()
    assert ListEntry.objects.count() == 0


def test_a_payment_without_card_and_email_has_nobody_to_block(
    support: Client, acme: ApiClient
) -> None:
    made = PaymentFactory(merchant=acme.merchant, billing_details={}, attempt_ids=[])

    answer = support.post(at(acme, made.id, "/block"), FORM)

    assert answer.status_code == 400
    assert "Neither card nor e-mail is known." in answer.content.decode()
    assert f"{made.id}/block" not in support.get(at(acme, made.id)).content.decode()


def test_an_entry_of_another_merchant_is_not_shown(
    support: Client, acme: ApiClient, globex: ApiClient
) -> None:
    theirs = globex.pay()["id"]
    operator = User.objects.create_user("op@pay.example", is_staff=True, is_superuser=True)
    lists.add(operator, globex.merchant, BlockEntry("block", "email", "a@b.example", "Theirs"))

    assert support.get(at(acme, theirs, "/block")).status_code == 404
    assert "Theirs" not in support.get(at(acme, acme.pay()["id"])).content.decode()
