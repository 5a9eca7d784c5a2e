"""Stripe's SDK for Python and disputes: listed, read, answered and closed, unmodified."""

import pytest
import stripe

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.usefixtures("stripe_calls_us"),
]


def test_disputes_are_listed_and_paged_through_both_ways(disputed: list[str]) -> None:
    pages = stripe.Dispute.list(limit=2, expand=["data.payment_intent"]).auto_paging_iter()
    forwards = list(pages)
    backwards = stripe.Dispute.list(limit=2, ending_before=forwards[-1].id).auto_paging_iter()

    assert [one.payment_intent.id for one in forwards] == disputed[::-1]
    assert [one.id for one in backwards] == [one.id for one in forwards[-2::-1]]


def test_a_dispute_is_read_and_found_by_its_payment(disputed: list[str]) -> None:
    [found] = stripe.Dispute.list(payment_intent=disputed[0]).data

    read = stripe.Dispute.retrieve(found.id)

    assert (read.status, read.reason, read.amount) == ("needs_response", "fraudulent", 12500)
    assert read.to_dict() == found.to_dict()


def test_a_dispute_is_answered_in_two_steps(disputed: list[str]) -> None:
    [found] = stripe.Dispute.list(payment_intent=disputed[1]).data

    noted = stripe.Dispute.modify(
        found.id, evidence={"customer_name": "Ayşe", "service_date": ""}, metadata={"case": "7"}
    )
    sent = stripe.Dispute.modify(found.id, submit=True)

    assert (noted.status, noted.evidence.customer_name) == ("needs_response", "Ayşe")
    assert noted.metadata.to_dict() == {"case": "7"}
    assert (sent.status, sent.evidence_details.submission_count) == ("under_review", 1)


def test_a_dispute_is_closed_once(disputed: list[str]) -> None:
    [found] = stripe.Dispute.list(payment_intent=disputed[2]).data

    closed = stripe.Dispute.close(found.id)
    with pytest.raises(stripe.InvalidRequestError) as refused:
        stripe.Dispute.close(found.id)

    assert closed.status == "lost"
    assert refused.value.code == "dispute_unexpected_state"


def test_a_disputes_event_is_read(disputed: list[str]) -> None:
    [found] = stripe.Dispute.list(payment_intent=disputed[3]).data

    [event] = stripe.Event.list(aggregate_id=found.id).data

    assert (event.type, event.data.object.id) == ("dispute.created", found.id)
    assert isinstance(event.data.object, stripe.Dispute)
