"""Once the bank was asked, no failure of ours may read as "nothing happened"."""

import pytest
from django.db import OperationalError

from acquirers.conversation import settling
from api import idempotency
from payments.payer import three_d_secure
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank
from tests.stage.client import ApiClient
from tests.stage.factories import payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DOUBLE = {"idempotency_key": "once"}


@pytest.fixture
def database_fails(monkeypatch: pytest.MonkeyPatch) -> object:
    """Let a function of a module fail as a lost database does."""

    def fail(module: object, name: str, times: int = 10) -> None:
        real, left = getattr(module, name), [times]

        def failing(*arguments: object, **options: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                return real(*arguments, **options)
            raise OperationalError("gone")

        monkeypatch.setattr(module, name, failing)

    return fail


def test_a_database_lost_after_the_charge_is_a_500(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(idempotency, "kept_answer")

    answer = acme.pay()

    assert captured_by_bank(acme) == 12500
    assert answer.refusal == (500, "internal_error", None)


def test_a_database_lost_before_the_charge_is_a_503(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(idempotency, "take")

    answer = acme.pay()

    assert bank.seen == []
    assert answer.refusal == (503, "upstream_unavailable", None)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_an_answer_whose_writing_fails_once_is_applied_again(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(settling, "settle", times=1)

    answer = acme.pay()

    assert answer["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500


def test_an_authentication_that_cannot_be_written_down_is_a_500(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(three_d_secure, "_await_payer")

    answer = acme.pay("4766620000000001", return_url="https://acme.example/return")

    assert answer.refusal == (500, "internal_error", None)
    assert bank.seen == ["/authentications"]


def test_an_answer_whose_writing_keeps_failing_is_a_500(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(settling, "settle")

    assert acme.pay().refusal == (500, "internal_error", None)


def test_an_answer_that_cannot_be_kept_is_answered_all_the_same(
    acme: ApiClient, bank: BankTransport, database_fails: object
) -> None:
    database_fails(idempotency, "save_answer")

    answer = acme.post("/v1/payment_intents", payment(), **DOUBLE)

    assert (answer.status, answer["status"]) == (200, "succeeded")
    assert acme.post("/v1/payment_intents", payment(), **DOUBLE).status == 200
    assert captured_by_bank(acme) == 12500
