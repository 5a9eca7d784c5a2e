"""`Idempotency-Key`: one key, one effect, one answer (contract 6)."""

import json
from contextvars import copy_context
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from api import idempotency, tasks
from api.idempotency import fingerprint
from core.errors import LockTimeout
from core.keyring import ring
from merchants import keys
from merchants.models import IdempotencyKey
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.books import captured_by_bank, refused
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import (
    DECLINED_CARD,
    GOOD_CARD,
    confirmation,
    payment,
    payment_method,
    unconfirmed,
)
from tests.stage.sweeper import Died, dies

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
EXPANDED = "?expand[]=customer"
REUSED = (400, "idempotency_key_reused", None)


def age(hours: float) -> None:
    IdempotencyKey.objects.update(created_at=timezone.now() - timedelta(hours=hours))


def test_the_same_request_again_gets_the_same_bytes(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post(PATH, payment(), idempotency_key="order 7")

    second = acme.post(PATH, payment(), idempotency_key="order 7")

    assert second.response.content == first.response.content
    assert second.status == 200
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.headers["Original-Request"] == first.headers["Request-Id"]
    assert second.headers["Request-Id"] != first.headers["Request-Id"]
    assert "Idempotent-Replayed" not in first.headers
    assert captured_by_bank(acme) == 12500


def test_an_answer_of_an_earlier_version_is_opened(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post("/v1/payment_intents", payment(), idempotency_key="k")
    [row] = IdempotencyKey.objects.all()

    # The text that stored answers are bound to: another would open none of them.
    context = f"merchants.idempotency|{acme.merchant.id}|k"
    assert first.body["id"].encode() in ring().open(bytes(row.sealed_response), context=context)


def test_without_a_key_each_request_is_a_payment(acme: ApiClient, bank: BankTransport) -> None:
    assert acme.pay()["id"] != acme.pay()["id"]


def test_the_answer_stays_the_first_one_when_the_payment_moves_on(
    acme: ApiClient, bank: BankTransport
) -> None:
    first = acme.post(PATH, payment(), idempotency_key="k")
    acme.post(f"{PATH}/{first['id']}", {"description": "Tea"})

    assert acme.post(PATH, payment(), idempotency_key="k").body == first.body


def test_a_decline_is_an_answer_and_is_kept(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post(PATH, payment(DECLINED_CARD), idempotency_key="k")

    assert acme.post(PATH, payment(DECLINED_CARD), idempotency_key="k").body == first.body
    assert len(bank.seen) == 1


def test_a_confirm_and_an_update_are_replayed_too(acme: ApiClient, bank: BankTransport) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}"
    for door, body in ((path, {"description": "Tea"}), (f"{path}/confirm", {})):
        first = acme.post(door, body, idempotency_key=door[-7:])
        second = acme.post(door, body, idempotency_key=door[-7:])
        assert second.response.content == first.response.content
        assert second.headers["Idempotent-Replayed"] == "true"
    assert len(bank.seen) == 1


def test_a_customer_is_created_once(acme: ApiClient) -> None:
    first = acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")

    assert acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k").body == first.body


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 12501},
        {"description": "Tea"},
        {"expand": ["customer"]},
        {"payment_method_data": payment_method("5555555555554444")},
        {"payment_method_data": payment_method(exp_year=2041)},
    ],
    ids=["amount", "description", "expand", "number", "expiry"],
)
def test_another_body_is_another_request(
    changes: dict, acme: ApiClient, bank: BankTransport
) -> None:
    acme.post(PATH, payment(), idempotency_key="k")

    answer = refused(acme, PATH, payment(**changes), bank=bank, idempotency_key="k")

    assert answer.refusal == REUSED
    assert answer.error["type"] == "idempotency_error"


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize(
    ("first", "then"), [(EXPANDED, ""), ("", EXPANDED), (EXPANDED, "?expand[]=latest_attempt")]
)
def test_another_expansion_in_the_query_is_another_request(
    first: str, then: str, acme: ApiClient, bank: BankTransport
) -> None:
    customer = acme.post("/v1/customers", {"email": "ayse@example.com"})["id"]
    body = payment(customer=customer)
    assert acme.post(PATH + first, body, idempotency_key="k").status == 200

    answer = refused(acme, PATH + then, body, bank=bank, idempotency_key="k")

    assert answer.refusal == REUSED
    assert "ayse@example.com" not in str(answer.body)


def test_a_replay_shows_what_the_query_expands_and_only_a_key_that_may_see_it_asks(
    acme: ApiClient, bank: BankTransport
) -> None:
    customer = acme.post("/v1/customers", {"email": "ayse@example.com"})["id"]
    path, body = PATH + EXPANDED + "&expand[]=latest_attempt", payment(customer=customer)
    first = acme.post(path, body, idempotency_key="k")
    less = acme.with_scopes(customers="none")

    turned = acme.post(
        f"{PATH}?expand[1]=customer&expand[0]=latest_attempt", body, idempotency_key="k"
    )

    assert first["customer"]["email"] == "ayse@example.com"
    assert turned.body == first.body
    assert less.post(path, body, idempotency_key="k").refusal[:2] == (403, "permission_denied")
    assert less.post(PATH, body, idempotency_key="k").refusal == REUSED


def test_a_request_without_an_expansion_in_its_query_is_known_by_what_was_stored_before(
    acme: ApiClient,
) -> None:
    """Rows that an earlier version has written: method, path and body, and nothing more."""
    acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")

    canonical = json.dumps(["POST /v1/customers", {"name": "Ayşe"}]).encode()
    mark = bytes(IdempotencyKey.objects.get().fingerprint)
    assert mark == ring().mac(fingerprint.PURPOSE, canonical)


def test_another_address_is_another_request(acme: ApiClient, bank: BankTransport) -> None:
    first, second = (acme.post(PATH, unconfirmed())["id"] for _ in range(2))
    acme.post(f"{PATH}/{first}", {"description": "Tea"}, idempotency_key="k")

    answer = acme.post(f"{PATH}/{second}", {"description": "Tea"}, idempotency_key="k")

    assert answer.refusal == REUSED


def test_the_order_of_the_bodys_keys_does_not_matter(acme: ApiClient, bank: BankTransport) -> None:
    turned = json.dumps(dict(reversed(payment().items())), indent=2).encode()
    first = acme.post(PATH, payment(), idempotency_key="k")

    assert acme.post(PATH, turned, idempotency_key="k").body == first.body


def test_the_cvc_is_no_part_of_the_request(acme: ApiClient, bank: BankTransport) -> None:
    other = payment(payment_method_data=payment_method(cvc="321"))
    first = acme.post(PATH, payment(), idempotency_key="k")

    assert acme.post(PATH, other, idempotency_key="k").body == first.body


def test_a_refused_request_leaves_the_key_free(acme: ApiClient, bank: BankTransport) -> None:
    refused(acme, PATH, payment(amount=0), bank=bank, idempotency_key="k")
    refused(acme, PATH, payment("4766620000000001"), bank=bank, idempotency_key="k")

    assert acme.post(PATH, payment(), idempotency_key="k")["status"] == "succeeded"


def test_a_refusal_for_the_payments_state_is_kept(acme: ApiClient, bank: BankTransport) -> None:
    path = f"{PATH}/{acme.pay()['id']}"
    first = acme.post(path, {"amount": 100}, idempotency_key="k")
    acme.post(path, {"description": "Tea"})

    second = acme.post(path, {"amount": 100}, idempotency_key="k")

    assert first.refusal == (400, "payment_intent_unexpected_state", None)
    assert (second.status, second.response.content) == (400, first.response.content)
    assert second.headers["Original-Request"] == first.headers["Request-Id"]
    assert acme.post(path, {"amount": 200}, idempotency_key="k").refusal == REUSED


def test_a_refused_confirm_is_kept_too(acme: ApiClient, bank: BankTransport) -> None:
    path = f"{PATH}/{acme.pay()['id']}/confirm"
    first = acme.post(path, confirmation(), idempotency_key="k")

    second = acme.post(path, confirmation(), idempotency_key="k")

    assert first.refusal == (400, "payment_intent_unexpected_state", None)
    assert second.headers["Original-Request"] == first.headers["Request-Id"]
    assert len(bank.seen) == 1


def test_a_lock_that_was_not_got_leaves_the_key_free(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}"
    with monkeypatch.context() as patch:
        patch.setattr("payments.charging.intents.refuse_in_flight", _find_locked)
        assert acme.post(path, {"amount": 100}, idempotency_key="k").status == 409

    assert acme.post(path, {"amount": 100}, idempotency_key="k")["amount"] == 100


def test_two_keys_of_one_merchant_share_idempotency_keys(
    acme: ApiClient, bank: BankTransport
) -> None:
    _key, secret = keys.create(acme.merchant, name="Second key")
    first = acme.post(PATH, payment(), idempotency_key="k")

    assert acme.twin(secret).post(PATH, payment(), idempotency_key="k").body == first.body


def test_two_merchants_with_one_key_do_not_meet(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    first = acme.post(PATH, payment(), idempotency_key="k")
    second = globex.post(PATH, payment(), idempotency_key="k")

    assert second.status == 200
    assert second["id"] != first["id"]
    assert captured_by_bank(acme) == captured_by_bank(globex) == 12500


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize(
    "key",
    ["", "x" * 256, "sipariş", "a\tb", "\x7f", GOOD_CARD, "4242-4242-4242-4242", f"k {GOOD_CARD}"],
)
def test_a_key_is_printable_and_no_card(key: str, acme: ApiClient, bank: BankTransport) -> None:
    answer = refused(acme, PATH, payment(), bank=bank, idempotency_key=key)

    assert answer.refusal == (400, "idempotency_key_invalid", "Idempotency-Key")
    assert GOOD_CARD not in str(answer.body)


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("around", ["{}", "order {}", "Bearer {}", "Bearer{}", "1{}1", "whsec_{}"])
def test_a_key_holds_no_api_key_and_no_signing_secret(
    around: str, acme: ApiClient, bank: BankTransport
) -> None:
    key = around.format(acme.key)

    answer = refused(acme, PATH, payment(), bank=bank, idempotency_key=key)

    assert answer.refusal == (400, "idempotency_key_invalid", "Idempotency-Key")
    assert "secret" in answer.error["message"]
    assert acme.key not in str(answer.body)


@pytest.mark.parametrize("key", ["task_live_7", "whsec", "sk_7", "disk_sandbox_a"])
def test_a_key_that_only_looks_like_a_secret_is_taken(
    key: str, acme: ApiClient, bank: BankTransport
) -> None:
    assert acme.post(PATH, payment(), idempotency_key=key).status == 200


@pytest.mark.parametrize("key", ["x", "x" * 255, "a b~!", "9f1c1a4e-6a54-4a3e-9e0b-3a1b6a1f0c55"])
def test_a_key_has_up_to_255_characters(key: str, acme: ApiClient, bank: BankTransport) -> None:
    assert acme.post(PATH, payment(), idempotency_key=key).status == 200


def test_reading_ignores_the_key(acme: ApiClient, bank: BankTransport) -> None:
    path = f"{PATH}/{acme.pay()['id']}"

    for key in ("k", "k", GOOD_CARD):
        answer = acme.get(path, idempotency_key=key)
        assert answer.status == 200
        assert "Idempotent-Replayed" not in answer.headers
    assert IdempotencyKey.objects.count() == 0


def test_the_stored_answer_cannot_be_read_in_the_table(
    acme: ApiClient, bank: BankTransport
) -> None:
    answer = acme.post(PATH, payment(description="Tea"), idempotency_key="k")

    [row] = IdempotencyKey.objects.values_list()
    text = b"".join(bytes(column) for column in row if isinstance(column, bytes | memoryview))
    assert len(text) > len(answer.response.content)
    assert [word for word in (b"pi_", b"Tea", b"succeeded", b"4242") if word in text] == []


def test_a_key_is_free_again_after_72_hours(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post(PATH, payment(), idempotency_key="k")
    age(hours=71.9)
    tasks.forget_idempotency_keys()
    assert acme.post(PATH, payment(), idempotency_key="k")["id"] == first["id"]

    age(hours=72.1)
    tasks.forget_idempotency_keys()

    assert acme.post(PATH, payment(), idempotency_key="k")["id"] != first["id"]


def _find_locked(_intent: PaymentIntent) -> None:
    raise LockTimeout


def test_what_another_request_has_answered_meanwhile_is_its_answer_with_its_headers(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two retries of a request that died after its work: the slower one repeats the faster's."""
    with dies(idempotency, "save_answer"), pytest.raises(Died):
        acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")
    died, kept = IdempotencyKey.objects.get().request_id, idempotency.save_answer
    faster: list[Answer] = []

    def late(*given: Any, **options: Any) -> Any:
        monkeypatch.setattr(idempotency, "save_answer", kept)
        Customer.objects.update(name="Changed since")
        retry = acme.twin().post
        faster.append(
            copy_context().run(retry, "/v1/customers", {"name": "Ayşe"}, idempotency_key="k")
        )
        return kept(*given, **options)

    monkeypatch.setattr(idempotency, "save_answer", late)

    slower = acme.post("/v1/customers", {"name": "Ayşe"}, idempotency_key="k")

    assert slower.body == faster[0].body
    for answer in (slower, faster[0]):
        assert answer.headers["Idempotent-Replayed"] == "true"
        assert answer.headers["Original-Request"] == died
