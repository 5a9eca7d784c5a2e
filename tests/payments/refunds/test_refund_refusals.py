"""Refunds that are refused, in the contract's order, and leave nothing behind."""

from typing import Any

import pytest

from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.books import refused, row_counts
from tests.stage.client import REFUNDS, Answer, ApiClient
from tests.stage.factories import DECLINED_CARD, unconfirmed
from tests.stage.threeds import challenged

pytestmark = [
    pytest.mark.usefixtures("books_agree"),
    pytest.mark.django_db(databases=["default", "bank"]),
]

NEVER_KNOWN = "4000001100000058"
PATH = "/v1/payment_intents"


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    return acme.pay()["id"]


def dispute(payment_id: str, amount: int) -> None:
    """Let the bank's dispute of an amount stand in the payment, as `note_dispute` writes it."""
    PaymentIntent.objects.filter(id=payment_id).update(disputed_minor=amount)


def ask(client: ApiClient, bank: BankTransport, payment_id: str, **body: Any) -> Answer:
    return refused(client, REFUNDS, {"payment_intent": payment_id, **body}, bank=bank)


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("amount", "code"),
    [
        (0, "amount_too_small"),
        (-1, "amount_too_small"),
        (12501, "amount_too_large"),
        (10**12, "amount_too_large"),
        (2**63, "amount_too_large"),
        (True, "parameter_invalid"),
        (1.0, "parameter_invalid"),
        ("4000", "parameter_invalid"),
        ([1], "parameter_invalid"),
    ],
)
def test_an_amount_that_is_none_or_too_much(
    amount: Any, code: str, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    assert ask(acme, bank, paid, amount=amount).refusal == (400, code, "amount")


@pytest.mark.parametrize(
    ("given", "code", "param"),
    [
        ({"currency": "try"}, "parameter_unknown", "currency"),
        ({"charge": "ch_1"}, "parameter_unknown", "charge"),
        ({"ammount": 100}, "parameter_unknown", "ammount"),
        ({"evidence": {"uncategorized_text": "mine"}}, "parameter_unknown", "evidence"),
        ({"reason": "expired_uncaptured_charge"}, "parameter_invalid", "reason"),
        ({"description": "x" * 1001}, "parameter_invalid", "description"),
        ({"metadata": {"a[b]": "1"}}, "parameter_invalid", "metadata[a[b]]"),
        ({"expand": ["charge"]}, "parameter_invalid", "expand[]"),
    ],
)
def test_a_parameter_that_is_none(
    given: Any, code: str, param: str, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    assert ask(acme, bank, paid, **given).refusal == (400, code, param)


@pytest.mark.parametrize("given", [{}, {"payment_intent": None}, {"payment_intent": ""}])
def test_a_refund_is_of_a_payment(given: Any, acme: ApiClient, bank: BankTransport) -> None:
    answer = refused(acme, REFUNDS, given, bank=bank)

    assert answer.refusal == (400, "parameter_missing", "payment_intent")


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize("unknown", ["pi_unknown", "x", "é", "x" * 255])
def test_a_foreign_payment_is_as_unknown_as_a_made_up_one(
    unknown: str, paid: str, globex: ApiClient, bank: BankTransport
) -> None:
    foreign, made_up = (ask(globex, bank, one) for one in (paid, unknown))

    assert foreign.refusal == (404, "resource_missing", "payment_intent")
    # An id of another form is told of its form, which is known without looking for it.
    ours = {"request_id": 0} if unknown.startswith("pi_") else {"request_id": 0, "message": ""}
    assert {**foreign.error, **ours} == {**made_up.error, **ours}


def test_a_foreign_refund_is_as_unknown_as_a_made_up_one(
    paid: str, acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid, 100)["id"]
    before = row_counts()

    for refund_id in (made, "re_unknown", "re_\x00"):
        path = f"{REFUNDS}/{refund_id}"
        answers = [
            globex.get(path), globex.post(path, {"description": "mine"}),
            globex.post(f"{path}/cancel"),
        ]  # fmt: skip
        assert {answer.refusal for answer in answers} == {(404, "resource_missing", None)}
    assert row_counts() == before


# --- The payment's status ---------------------------------------------------------------------


@pytest.mark.parametrize("amount", [None, 1])
def test_only_captured_money_goes_back(
    amount: int | None, acme: ApiClient, bank: BankTransport
) -> None:
    held = acme.pay(capture_method="manual")["id"]
    canceled = acme.pay(capture_method="manual")["id"]
    acme.post(f"{PATH}/{canceled}/cancel")
    others = [acme.post(PATH, unconfirmed())["id"], acme.pay(DECLINED_CARD)["id"]]
    part = {} if amount is None else {"amount": amount}

    for payment_id in (held, canceled, *others):
        answer = ask(acme, bank, payment_id, **part)
        assert answer.refusal == (400, "payment_intent_unexpected_state", None)
        assert answer.error["payment_intent"] == acme.payment(payment_id).body


def test_a_payment_that_stays_unknown_is_asked_about_and_refused(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(NEVER_KNOWN)["id"]
    asked = bank.inquiries_seen()

    answer = acme.refund(payment_id)

    assert answer.refusal == (400, "payment_intent_unexpected_state", None)
    assert answer.error["payment_intent"]["status"] == "processing"
    assert bank.inquiries_seen() == asked + 1


def test_of_a_part_that_was_captured_no_more_goes_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.pay(capture_method="manual")["id"]
    acme.post(f"{PATH}/{payment_id}/capture", {"amount_to_capture": 5000})

    assert ask(acme, bank, payment_id, amount=5001).refusal == (400, "amount_too_large", "amount")
    assert acme.refund(payment_id, 5000)["status"] == "succeeded"


# --- What is left of it -----------------------------------------------------------------------


@pytest.mark.every_case("one key has one effect")
@pytest.mark.parametrize("amount", [{}, {"amount": 1}, {"amount": 12500}, {"amount": 12501}])
def test_a_payment_is_refunded_once(
    amount: Any, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid, 2500)
    acme.refund(paid)

    answer = ask(acme, bank, paid, **amount)

    assert answer.refusal == (400, "payment_already_refunded", None)
    assert answer.error["payment_intent"] == acme.payment(paid).body


def test_of_a_rest_no_more_goes_back(paid: str, acme: ApiClient, bank: BankTransport) -> None:
    acme.refund(paid, 4000)

    assert ask(acme, bank, paid, amount=8501).refusal == (400, "amount_too_large", "amount")
    assert acme.refund(paid, 8500)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("disputed", "amount", "refusal"),
    [
        (3000, 9501, (400, "payment_disputed", None)),
        (3000, 12500, (400, "payment_disputed", None)),
        (3000, 12501, (400, "amount_too_large", "amount")),
        (12500, None, (400, "payment_disputed", None)),
        (12500, 1, (400, "payment_disputed", None)),
    ],
)
def test_what_is_disputed_does_not_go_back(
    disputed: int,
    amount: int | None,
    refusal: tuple[int, str, str | None],
    paid: str,
    acme: ApiClient,
    bank: BankTransport,
) -> None:
    dispute(paid, disputed)

    answer = ask(acme, bank, paid, **({} if amount is None else {"amount": amount}))

    assert answer.refusal == refusal
    if refusal[1] == "payment_disputed":
        assert answer.error["payment_intent"] == acme.payment(paid).body


def test_beside_a_dispute_the_rest_goes_back_as_a_refund(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    dispute(paid, 3000)

    made = acme.refund(paid)

    assert (made["amount"], made["method"], made["status"]) == (9500, "refund", "succeeded")
    assert ask(acme, bank, paid).refusal == (400, "payment_disputed", None)
    dispute(paid, 0)
    assert acme.refund(paid)["amount"] == 3000


def test_all_refunded_is_said_before_disputed(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid)
    dispute(paid, 12500)

    assert ask(acme, bank, paid).refusal[1] == "payment_already_refunded"


# --- Retries, scopes --------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"amount": 12500}])
def test_a_refusal_is_replayed_by_its_key(
    given: Any, paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.refund(paid, 100)
    amount = given.get("amount", 12401)
    first = acme.refund(paid, amount, idempotency_key="k")
    assert first.refusal == (400, "amount_too_large", "amount")

    again = acme.refund(paid, amount, idempotency_key="k")

    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert acme.refund(paid, 1, idempotency_key="k").refusal[1] == "idempotency_key_reused"


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize(
    ("scopes", "may_read", "may_write"),
    [
        ({"refunds": "none"}, False, False),
        ({"refunds": "read"}, True, False),
        ({"refunds": "write", "payment_intents": "none"}, True, True),
    ],
)
def test_a_key_needs_its_scope(
    scopes: dict[str, str],
    may_read: bool,
    may_write: bool,
    paid: str,
    acme: ApiClient,
    bank: BankTransport,
) -> None:
    made = acme.refund(paid, 100)["id"]
    scoped = acme.with_scopes(**scopes)

    reads = {scoped.get(path).status for path in (REFUNDS, f"{REFUNDS}/{made}")}
    writes = {
        scoped.refund(paid, 100).status,
        scoped.post(f"{REFUNDS}/{made}", {"description": "Tea"}).status,
    }

    assert reads == {200 if may_read else 403}
    assert writes == {200 if may_write else 403}


def test_what_is_expanded_needs_its_scope_too(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    made = acme.refund(paid, 100)["id"]
    scoped = acme.with_scopes(payment_intents="none")

    assert scoped.get(f"{REFUNDS}/{made}").status == 200
    for field in ("payment_intent", "attempt"):
        answer = scoped.get(f"{REFUNDS}/{made}?expand[]={field}")
        assert answer.refusal == (403, "permission_denied", None)


# --- The payment that a refusal carries -------------------------------------------------------


def test_a_refusal_carries_no_payment_that_the_key_may_not_read(
    paid: str, acme: ApiClient, bank: BankTransport
) -> None:
    """The payment shows the link to the bank, and the payer's address."""
    scoped, reader = acme.with_scopes(payment_intents="none"), acme.with_scopes()
    waiting = challenged(acme)["id"]
    acme.refund(paid)

    for payment_id, code in (
        (waiting, "payment_intent_unexpected_state"),
        (paid, "payment_already_refunded"),
    ):
        answer = ask(scoped, bank, payment_id)
        assert answer.refusal == (400, code, None)
        assert [*answer.error] == [
            "type", "code", "message", "param", "doc_url", "request_id",
        ]  # fmt: skip
        assert ask(reader, bank, payment_id).error["payment_intent"]["id"] == payment_id


@pytest.mark.parametrize("is_first", [True, False])
def test_a_replayed_refusal_shows_each_key_what_it_may_read(
    is_first: bool, acme: ApiClient, bank: BankTransport
) -> None:
    clients = [acme.with_scopes(payment_intents="none"), acme.with_scopes(payment_intents="read")]
    waiting = challenged(acme)["id"]

    first, again = (
        one.refund(waiting, idempotency_key="k") for one in (clients if is_first else clients[::-1])
    )

    without, whole = (first, again) if is_first else (again, first)
    assert again.headers["Idempotent-Replayed"] == "true"
    shown = whole.error.pop("payment_intent")
    assert shown["next_action"]["type"] == "redirect_to_url"
    assert without.body == whole.body
