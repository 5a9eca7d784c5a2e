"""Races over one payment: the requests that meet, and every right end of each race."""

from datetime import timedelta

from core import clock
from payments.intents import deadlines
from payments.intents.models import Attempt
from tests.stage import bank_books
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.races import (
    PATH,
    SPREAD_SECONDS,
    Contestant,
    Meeting,
    Race,
    asking,
    confirming,
    returning,
    sweeping,
)
from tests.stage.threeds import challenged, decide

CARDS = (GOOD_CARD, "5555555555554444")
CREATE = {"amount": 12500, "currency": "try"}
PART = {"amount_to_capture": 5000}
PAID, CANCELED = "200 succeeded", "200 canceled"
REFUSED = ("409 lock_timeout", "400 payment_intent_unexpected_state")
SWEPT = ("asked", "idle")
# When most of the requests that race with it have come so far that they look at the time.
ENDS_IN = timedelta(seconds=1.5 * SPREAD_SECONDS)
# Of two who want the same either wins, and the other hears a refusal.
ONE_PAYS = {(PAID, no, "succeeded") for no in REFUSED} | {(no, PAID, "succeeded") for no in REFUSED}


def authorized(client: ApiClient) -> str:
    return client.pay(capture_method="manual")["id"]


def authenticated(client: ApiClient) -> tuple[str, dict[str, str]]:
    """A payment whose payer has just approved it at the bank, and the bank's answer."""
    paid = challenged(client)
    return paid["id"], decide(paid, "Approve").fields


def two_cards(client: ApiClient) -> Meeting:
    payment_id = client.post(PATH, CREATE)["id"]
    return Meeting(payment_id, [confirming(client, payment_id, number) for number in CARDS])


def two_cards_while_the_payer_is_away(client: ApiClient) -> Meeting:
    payment_id = challenged(client)["id"]
    return Meeting(payment_id, [confirming(client, payment_id, number) for number in CARDS])


def the_payer_and_the_end_of_the_hour(client: ApiClient) -> Meeting:
    payment_id, fields = authenticated(client)
    clock.advance(deadlines.PAYER_HAS)
    return Meeting(payment_id, [returning(fields), sweeping()])


def the_payer_and_an_inquiry(client: ApiClient) -> Meeting:
    payment_id, fields = authenticated(client)
    return Meeting(payment_id, [returning(fields), sweeping(times=4), sweeping(times=4)])


def the_payer_twice(client: ApiClient) -> Meeting:
    payment_id, fields = authenticated(client)
    return Meeting(payment_id, [returning(fields)] * 2)


def the_payer_and_a_cancellation(client: ApiClient) -> Meeting:
    payment_id, fields = authenticated(client)
    return Meeting(payment_id, [returning(fields), asking(client, payment_id, "cancel")])


def the_payer_and_another_card(client: ApiClient) -> Meeting:
    payment_id, fields = authenticated(client)
    return Meeting(payment_id, [returning(fields), confirming(client, payment_id)])


def a_capture_and_a_cancellation(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, a) for a in ("capture", "cancel")])


def two_captures(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "capture") for _ in range(2)])


def two_captures_of_different_amounts(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "capture", b) for b in ({}, PART)])


def two_cancellations(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "cancel") for _ in range(2)])


def a_capture_and_an_inquiry(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "capture"), sweeping(times=6)])


def a_capture_and_the_seventh_day(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "capture"), expiry_of(payment_id)])


def a_cancellation_and_the_seventh_day(client: ApiClient) -> Meeting:
    payment_id = authorized(client)
    return Meeting(payment_id, [asking(client, payment_id, "cancel"), expiry_of(payment_id)])


def expiry_of(payment_id: str) -> Contestant:
    """Let the authorisation end in a moment, at the bank too; return the sweeper who sees it."""
    attempt = Attempt.objects.get(intent_id=payment_id)
    ends_at = clock.now() + ENDS_IN
    began_at = ends_at - deadlines.AUTHORIZATION_LIVES
    Attempt.objects.filter(id=attempt.id).update(asked_at=began_at, due_at=ends_at)
    # The bank was asked a moment before it began: here it is over first.
    bank_books.make_older(attempt.acquirer_reference, attempt.asked_at - began_at)
    return sweeping(not_before=ends_at)


ALL = (
    Race(
        two_cards,
        ONE_PAYS,
    ),
    Race(
        two_cards_while_the_payer_is_away,
        ONE_PAYS,
    ),
    Race(
        the_payer_and_the_end_of_the_hour,
        {("302", "asked", "requires_payment_method")}
        | {("302", swept, "succeeded") for swept in SWEPT},
        # The proof is good for minutes there: the bank refuses it, and the return ends the payment.
        more_at_real_doors=frozenset({("302", "idle", "requires_payment_method")}),
    ),
    Race(
        the_payer_and_an_inquiry,
        {("302", one, other, "succeeded") for one in SWEPT for other in SWEPT},
        lease_seconds=0,
    ),
    Race(the_payer_twice, {("302", "302", "succeeded")}),
    Race(
        the_payer_and_a_cancellation,
        {("302", CANCELED, "canceled")} | {("302", no, "succeeded") for no in REFUSED},
    ),
    Race(
        the_payer_and_another_card,
        {("302", answer, "succeeded") for answer in (PAID, *REFUSED)},
    ),
    Race(
        a_capture_and_a_cancellation,
        {(PAID, no, "succeeded") for no in REFUSED}
        | {(no, CANCELED, "canceled") for no in REFUSED},
    ),
    Race(
        two_captures,
        ONE_PAYS,
    ),
    Race(
        two_captures_of_different_amounts,
        ONE_PAYS,
    ),
    Race(
        two_cancellations,
        {(CANCELED, no, "canceled") for no in REFUSED}
        | {(no, CANCELED, "canceled") for no in REFUSED},
    ),
    Race(
        a_capture_and_an_inquiry,
        {(PAID, swept, "succeeded") for swept in SWEPT},
        lease_seconds=0,
    ),
    # Now and then the sweeper finds what it had to leave in the round before.
    Race(
        a_capture_and_the_seventh_day,
        {(PAID, swept, "succeeded") for swept in SWEPT}
        | {(no, "asked", "canceled") for no in ("400 capture_expired", *REFUSED)}
        # The refused capture still held the lock: the sweeper's next run will find it.
        | {("400 capture_expired", swept, "requires_capture") for swept in SWEPT}
        # The capture was asked for in time, and came to the bank too late.
        | {(CANCELED, swept, "canceled") for swept in SWEPT}
        # The old bank does not say why nothing can be captured: it will be asked.
        | {("200 processing", swept, end) for swept in SWEPT for end in ("processing", "canceled")},
        # NestPay refuses a capture of what is over by a code that gives no reason.
        more_at_real_doors=frozenset(
            {("200 requires_payment_method", swept, "requires_payment_method") for swept in SWEPT}
        ),
    ),
    Race(
        a_cancellation_and_the_seventh_day,
        {(CANCELED, swept, "canceled") for swept in SWEPT}
        | {(no, "asked", "canceled") for no in REFUSED},
    ),
)
RACES = {race.name: race for race in ALL}
