"""Refunds with Stripe's official SDK for Python, against the running service."""

import pytest
import stripe

from tests.stage.factories import payment
from tests.stage.sdk_service import SdkService
from tests.stage.stripe_calls import client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]

NOTHING_GOES_BACK, UNANSWERED = "4000001100000074", "4000000000007726"


def paid(number: str = "4242424242424242") -> str:
    return stripe.PaymentIntent.create(**payment(number)).id


def test_a_part_and_then_the_rest_go_back() -> None:
    payment_id = paid()

    part = stripe.Refund.create(
        payment_intent=payment_id, amount=4000, reason="duplicate", metadata={"return": "12"}
    )
    rest = stripe.Refund.create(payment_intent=payment_id)

    assert isinstance(part, stripe.Refund)
    assert (part.status, part.amount, part.reason) == ("succeeded", 4000, "duplicate")
    assert (rest.status, rest.amount) == ("succeeded", 8500)
    assert part.metadata.to_dict() == {"return": "12"}
    assert stripe.PaymentIntent.retrieve(payment_id).refunded_minor == 12500


def test_a_refund_is_read_changed_and_shown_with_its_payment() -> None:
    made = stripe.Refund.create(payment_intent=paid(), amount=100)

    changed = stripe.Refund.modify(made.id, metadata={"return": "12"})
    read = stripe.Refund.retrieve(made.id, expand=["payment_intent", "attempt"])

    assert changed.metadata.to_dict() == {"return": "12"}
    assert isinstance(read.payment_intent, stripe.PaymentIntent)
    assert (read.payment_intent.id, read.attempt.id) == (made.payment_intent, made.attempt)


def test_refunds_of_a_payment_are_paged_through_both_ways() -> None:
    payment_id = paid()
    made = [stripe.Refund.create(payment_intent=payment_id, amount=n).id for n in (1, 2, 3)]

    forwards = stripe.Refund.list(payment_intent=payment_id, limit=2).auto_paging_iter()
    backwards = stripe.Refund.list(payment_intent=payment_id, limit=2, ending_before=made[0])
    large = stripe.Refund.list(payment_intent=payment_id, amount={"gte": 2}, status="succeeded")

    assert [one.id for one in forwards] == made[::-1]
    assert [one.id for one in backwards.auto_paging_iter()] == made[1:]
    assert [one.id for one in large] == made[:0:-1]


def test_a_refusal_of_the_bank_is_an_answer_and_no_error() -> None:
    failed = stripe.Refund.create(payment_intent=paid(NOTHING_GOES_BACK), amount=100)

    assert (failed.status, failed.failure_reason) == ("failed", "declined")


def test_what_has_left_is_not_canceled() -> None:
    made = stripe.Refund.create(payment_intent=paid(UNANSWERED), amount=100)
    assert (made.status, made.pending_reason) == ("pending", "processing")

    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Refund.cancel(made.id)

    assert refused.value.code == "refund_unexpected_state"


@pytest.mark.parametrize(
    ("amount", "code", "param"),
    [(12501, "amount_too_large", "amount"), (0, "amount_too_small", "amount")],
)
def test_too_much_and_too_little_are_refused(amount: int, code: str, param: str) -> None:
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Refund.create(payment_intent=paid(), amount=amount)

    assert (refused.value.code, refused.value.param) == (code, param)


def test_a_refunded_payment_is_refunded_once_with_the_newer_client(
    sdk_service: SdkService,
) -> None:
    newer = client(sdk_service)
    payment_id = paid()
    asked = {"params": {"payment_intent": payment_id}, "options": {"idempotency_key": payment_id}}

    first, again = newer.v1.refunds.create(**asked), newer.v1.refunds.create(**asked)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        newer.v1.refunds.create({"payment_intent": payment_id})

    assert first.to_dict() == again.to_dict()
    assert refused.value.code == "payment_already_refunded"


def test_its_events_carry_the_refund() -> None:
    made = stripe.Refund.create(payment_intent=paid(), amount=100)

    events = stripe.Event.list(type="refund.*", limit=10)

    own = [event for event in events if event.data.object.id == made.id]
    assert [event.type for event in own] == ["refund.succeeded", "refund.created"]
    assert isinstance(own[0].data.object, stripe.Refund)
