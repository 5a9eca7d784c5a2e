"""Ended payments and attempts: the fields that they still show, the changes still allowed."""

import pytest
from django.db import IntegrityError

from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus
from tests.stage.audited import audit
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.doors import MANUAL
from tests.stage.factories import DECLINED_CARD
from tests.stage.walks import NOT_SECURE, WEEK, Walk

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]

SILENT, REFUSED_CAPTURE = "4000001100000017", "4000001100000066"


@pytest.fixture
def walk(acme: ApiClient, bank: BankTransport) -> Walk:
    return Walk(acme, bank)


ENDS_WITHOUT_MONEY = {
    "canceled": lambda walk: walk.pay(**MANUAL).cancel(),
    "expired": lambda walk: walk.pay(**MANUAL).sweep(WEEK + 60),
    "refused capture": lambda walk: walk.pay(REFUSED_CAPTURE, **MANUAL).capture(),
}


@pytest.mark.not_at_garanti("its histories show a day later that a hold has lapsed")
@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("how", ENDS_WITHOUT_MONEY)
def test_a_payment_that_ended_without_money_has_nothing_authorised(how: str, walk: Walk) -> None:
    ENDS_WITHOUT_MONEY[how](walk)

    row = PaymentIntent.objects.get()
    assert (row.authorized_minor, row.amount_capturable, row.captured_minor) == (0, 0, 0)
    status, said = audit()
    assert status == 0, said


def test_nobody_pays_the_surcharge_of_a_canceled_payment(walk: Walk) -> None:
    walk.pay(**MANUAL)
    PaymentIntent.objects.update(surcharge=100, authorized_minor=12600)

    walk.cancel()

    assert (walk.status, walk.shown()["surcharge"]) == ("canceled", 0)
    assert walk.events()[-1]["data"]["previous_attributes"]["surcharge"] == 100


def test_the_audit_finds_what_is_authorised_by_no_attempt(walk: Walk) -> None:
    walk.pay(**MANUAL).cancel()
    PaymentIntent.objects.update(authorized_minor=12500)

    status, said = audit()

    assert status == 1
    assert "is canceled with 12500 authorised" in said


def test_a_payment_whose_bank_is_silent_shows_no_earlier_cards_error(walk: Walk) -> None:
    walk.pay(DECLINED_CARD)
    declined = walk.shown()["last_payment_error"]

    walk.confirm(SILENT, **NOT_SECURE)

    assert (walk.status, walk.shown()["last_payment_error"]) == ("processing", None)
    before = walk.events()[-1]["data"]["previous_attributes"]
    assert before["last_payment_error"] == declined
    assert walk.moves()[-1].event == "payment_intent.processing"


def test_a_canceled_payment_keeps_the_error_of_its_last_card(walk: Walk) -> None:
    walk.pay(DECLINED_CARD).cancel()

    assert walk.status == "canceled"
    assert walk.shown()["last_payment_error"]["decline_code"] == "generic_decline"


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("after", sorted(set(AttemptStatus) - {AttemptStatus.SUCCEEDED}))
def test_the_database_keeps_a_successful_attempt_successful(after: str, walk: Walk) -> None:
    walk.pay()

    with pytest.raises(IntegrityError, match="does not move"):
        Attempt.objects.update(status=after, captured_minor=0)
