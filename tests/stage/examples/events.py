"""Something that each type of event reports."""

from datetime import timedelta

from core import clock
from events import types
from ledger.tasks import settle_due
from merchants import accounts
from tests.stage.bank_disputes import DISPUTED
from tests.stage.checkouts import SESSIONS
from tests.stage.examples.storyteller import Storyteller
from tests.stage.factories import (
    DECLINED_CARD,
    RETURN_URL,
    SILENT_CARD,
    confirmation,
    three_d_secure,
)
from tests.stage.notifier import take_in, take_in_after
from tests.stage.sweeper import sweep_after
from tests.stage.topups import come_after, top_up
from tests.stage.transfers import PAYOUTS, balance, hear_after, pay_out, sent

REPORTED, REFUND_FAILS = "4000000000005423", "4000000000005126"
BANK_SECONDS = 6


def tell_events(story: Storyteller) -> None:
    """Let something of each type happen, and remember an event of each."""
    client = story.client
    accounts.change(client.merchant, {"mcc": "5411"}, "A shop for tea.")
    client.pay(DECLINED_CARD)
    client.pay(return_url=RETURN_URL, **three_d_secure("required"))
    client.pay(SILENT_CARD)
    waits = client.post("/v1/payment_intents", {"amount": 12500, "currency": "try"})["id"]
    client.post(SESSIONS, {"payment_intent": waits})
    client.post(f"/v1/payment_intents/{waits}/confirm", confirmation())
    client.pay(REPORTED)
    take_in_after(BANK_SECONDS)
    client.refund(client.pay(REFUND_FAILS)["id"])
    sweep_after(BANK_SECONDS)
    _about_transfers(story)
    _about_the_balance(story)
    for name in types.names():
        newest = client.get(f"/v1/events?type={name}&limit=1")["data"]
        assert newest, f"The story has no {name}."
        story.happened(newest[0])


def _about_transfers(story: Storyteller) -> None:
    top_up(story.client)
    come_after(BANK_SECONDS)
    for destination in ("main", "test_bounced"):
        sent(pay_out(story.client, destination=destination)["id"])
        hear_after(BANK_SECONDS)
        hear_after(BANK_SECONDS)


def _about_the_balance(story: Storyteller) -> None:
    """Let money become available, and a dispute take some after all was paid out."""
    client = story.client
    client.pay(DISPUTED)
    clock.advance(timedelta(days=3))
    settle_due()
    payout = pay_out(client, balance(client))["id"]
    take_in()
    client.post(f"{PAYOUTS}/{payout}/cancel")
