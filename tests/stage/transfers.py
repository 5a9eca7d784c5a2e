"""Payouts as tests drive them: money to pay out, the bank's notices, and its book of transfers."""

from datetime import timedelta
from typing import Any

from django.db import transaction

from acquirers import references
from acquirers.transfers import tasks
from core import clock, ids
from ledger import accounts
from merchants.models import Merchant, PayoutAccount
from payouts.models import Payout
from payouts.topups import creation, steps
from payouts.topups.creation import Wanted
from payouts.topups.models import IncomingTransfer
from testbank.models import Transfer
from tests.stage.client import Answer, ApiClient
from tests.stage.sweeper import sweep_after

PAYOUTS = "/v1/payouts"
DELAY = 60
# Money that no bank of a test knows of: the audit compares a bank's transfers with its own alone.
IN_CASH = "cash"
IBAN = "TR330006100519786457841326"


def account(merchant: Merchant, reference: str = "main", *, is_default: bool = True) -> None:
    """Register an account, past the operator's door."""
    PayoutAccount.objects.create(
        merchant=merchant,
        reference=reference,
        holder_name="Acme Ltd",
        iban=IBAN,
        is_default=is_default,
        created_at=clock.now(),
    )


def rich(client: ApiClient, amount: int = 100_000, currency: str = "try") -> ApiClient:
    """Give a merchant money that is available, and an account for it."""
    enrich(client.merchant, amount, currency)
    return client


def enrich(merchant: Merchant, amount: int = 100_000, currency: str = "try") -> None:
    if not PayoutAccount.objects.filter(merchant=merchant).exists():
        account(merchant)
    accounts.ensure(merchant.id, currency)
    with transaction.atomic():
        topup = creation.open_topup(
            ids.new("tu"), merchant, Wanted(amount, currency, is_told=False)
        )
        IncomingTransfer.objects.create(
            rail=IN_CASH,
            reference=references.new(),
            amount=amount,
            currency=currency,
            status="matched",
            merchant=topup.merchant,
            topup=topup,
            arrived_at=clock.now(),
            created_at=clock.now(),
        )
        steps.succeed(topup)


def pay_out(client: ApiClient, amount: int = 5000, **changes: Any) -> Answer:
    """Ask for a payout; `idempotency_key` is a header, the rest is the body."""
    headers = {"idempotency_key": key} if (key := changes.pop("idempotency_key", "")) else {}
    return client.post(PAYOUTS, {"amount": amount, "currency": "try", **changes}, **headers)


def shown(client: ApiClient, payout_id: str) -> Answer:
    return client.get(f"{PAYOUTS}/{payout_id}")


def hear() -> None:
    """Take the bank's notices of transfers in, as beat does every two seconds."""
    tasks.take_in()


def hear_after(seconds: float) -> None:
    clock.advance(timedelta(seconds=seconds))
    hear()


def sent(payout_id: str) -> None:
    """Let the delay pass, and the sweeper send what is due."""
    sweep_after(DELAY)
    assert Payout.objects.get(id=payout_id).status == "in_transit"


def balance(client: ApiClient, kind: str = "available", currency: str = "try") -> int:
    sums = client.get("/v1/balance")[kind]
    return next((row["amount"] for row in sums if row["currency"] == currency), 0)


def at_the_bank() -> list[tuple[int, str, int]]:
    """Return amount, state and what moved of each transfer in the bank's book."""
    transfers = Transfer.objects.order_by("id")
    return [(one.amount, one.state, sum(one.moves.values_list("amount", flat=True)))
            for one in transfers]  # fmt: skip


def told(client: ApiClient, payout_id: str) -> list[str]:
    return [event["type"].removeprefix("payout.") for event in client.events_of(payout_id)]
