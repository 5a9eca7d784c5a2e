"""Changing a payment before it is charged, and what stays changeable after."""

from typing import Any

import pytest

from core.errors import LockTimeout
from events.models import Event
from payments.intents.models import LineItem
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank, refused
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, SILENT_CARD, line, payment, unconfirmed

pytestmark = [
    pytest.mark.both_banks,
    pytest.mark.django_db(databases=["default", "bank"]),
]


@pytest.fixture
def path(acme: ApiClient, bank: BankTransport) -> str:
    """The address of a payment of 12500 with a card, not yet confirmed."""
    body = unconfirmed(description="Tea", metadata={"order": "7", "shop": "west"})
    return f"/v1/payment_intents/{acme.post('/v1/payment_intents', body)['id']}"


def test_the_amount_that_was_changed_last_is_charged(path: str, acme: ApiClient) -> None:
    acme.post(path, {"amount": 9900, "currency": "EUR"})

    answer = acme.post(f"{path}/confirm")

    assert (answer["amount"], answer["currency"], answer["amount_charged"]) == (9900, "eur", 9900)
    assert captured_by_bank(acme) == acme.pending("eur") == 9900


def test_a_description_is_changed_and_cleared(path: str, acme: ApiClient) -> None:
    assert acme.post(path, {"description": "Coffee"})["description"] == "Coffee"
    assert acme.post(path, {"description": None})["description"] is None


def test_what_an_update_does_not_name_stays(path: str, acme: ApiClient) -> None:
    before = acme.get(path).body

    after = acme.post(path, {"description": "Coffee"}).body

    assert after == {**before, "description": "Coffee"}


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"order": "8"}, {"order": "8", "shop": "west"}),
        ({"order": ""}, {"shop": "west"}),
        ({"order": None}, {"shop": "west"}),
        ({"gift": "yes"}, {"order": "7", "shop": "west", "gift": "yes"}),
        ({}, {}),
        ("", {}),
        (None, {}),
    ],
)
def test_metadata_is_merged(change: Any, left: dict, path: str, acme: ApiClient) -> None:
    assert acme.post(path, {"metadata": change})["metadata"] == left


def test_an_update_emits_no_event(path: str, acme: ApiClient) -> None:
    acme.post(path, {"amount": 100, "metadata": {"order": "8"}})

    assert [event.type for event in Event.objects.all()] == ["payment_intent.created"]


def test_a_customer_is_set_and_cleared(path: str, acme: ApiClient) -> None:
    customer = acme.post("/v1/customers", {"name": "Ayşe"})["id"]

    assert acme.post(path, {"customer": customer})["customer"] == customer
    assert acme.post(path, {"customer": None})["customer"] is None


def test_line_items_are_replaced_whole(path: str, acme: ApiClient) -> None:
    first = acme.post(path, {"line_items": [line(12500)]})["line_items"]

    second = acme.post(path, {"line_items": [line(2500), line(10000)]})["line_items"]

    assert len(second) == 2
    assert not set(first) & set(second)
    assert LineItem.objects.count() == 2


def test_line_items_follow_the_currency(path: str, acme: ApiClient) -> None:
    acme.post(path, {"line_items": [line(12500)]})

    answer = acme.post(path, {"currency": "usd", "expand": ["line_items"]})

    assert [item["currency"] for item in answer["line_items"]] == ["usd"]


def test_an_amount_that_leaves_the_lines_behind_is_refused(
    path: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.post(path, {"line_items": [line(12500)]})

    answer = refused(acme, path, {"amount": 12600}, bank=bank)

    assert answer.refusal == (400, "line_items_amount_mismatch", "line_items")
    assert acme.get(path)["amount"] == 12500


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"amount": None}, (400, "parameter_missing", "amount")),
        ({"currency": None}, (400, "parameter_missing", "currency")),
        ({"amount": 0}, (400, "amount_too_small", "amount")),
        ({"installments": 2}, (400, "installments_not_available", "installments")),
        ({"customer": "cus_nobody"}, (404, "resource_missing", "customer")),
        ({"capture_method": "manual"}, (400, "parameter_unknown", "capture_method")),
        ({"line_items": [line(1)]}, (400, "line_items_amount_mismatch", "line_items")),
        ({"line_items": [None]}, (400, "parameter_missing", "line_items[0]")),
    ],
)
def test_a_wrong_update_changes_nothing(
    change: dict, refusal: tuple, path: str, acme: ApiClient, bank: BankTransport
) -> None:
    before = acme.get(path).body

    assert refused(acme, path, change, bank=bank).refusal == refusal
    assert acme.get(path).body == before


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize("number", [DECLINED_CARD, SILENT_CARD, "4242424242424242"])
@pytest.mark.parametrize(
    "terms",
    [{"amount": 100}, {"currency": "usd"}, {"customer": None}, {"installments": 1},
     {"line_items": []}],
    ids=lambda terms: next(iter(terms)),
)  # fmt: skip
def test_an_attempt_fixes_the_terms(
    number: str, terms: dict, acme: ApiClient, bank: BankTransport
) -> None:
    tried = acme.pay(number)

    answer = refused(acme, f"/v1/payment_intents/{tried['id']}", terms, bank=bank)

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert answer.error["payment_intent"] == tried.body


@pytest.mark.parametrize("number", [DECLINED_CARD, SILENT_CARD, "4242424242424242"])
def test_words_may_change_after_an_attempt(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    tried = acme.pay(number)

    changes = {"description": "Coffee", "metadata": {"order": "8"}}
    answer = acme.post(f"/v1/payment_intents/{tried['id']}", changes)

    assert answer.body == {**tried.body, **changes}


def test_nothing_is_changed_while_the_bank_is_asked(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The answer is never applied: what a crash after the bank's answer leaves behind.
    monkeypatch.setattr("acquirers.conversation.settling.settle", _crash)
    body = acme.post("/v1/payment_intents", payment(), idempotency_key="k")
    [event] = Event.objects.all()

    path = f"/v1/payment_intents/{event.aggregate_id}"
    answers = [acme.post(path, {"description": "Tea"}), acme.post(f"{path}/confirm")]

    assert (body.status, body.error["code"]) == (500, "internal_error")
    assert [answer.refusal for answer in answers] == [(409, LockTimeout.code, None)] * 2
    assert acme.get(path)["status"] == "requires_confirmation"
    assert answers[0].headers["Retry-After"] == "1"


def _crash(*_arguments: object) -> None:
    raise RuntimeError("the process died")
