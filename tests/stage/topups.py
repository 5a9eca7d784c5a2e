"""Topups as tests drive them: transfers that come in, and those that nobody waits for."""

from datetime import timedelta
from typing import Any

from core import clock
from payouts.topups import tasks
from payouts.topups.models import IncomingTransfer, Topup
from testbank import decisions, incoming
from testbank.models import IncomingTransfer as AtTheBank
from tests.stage.client import Answer, ApiClient
from tests.stage.transfers import hear

TOPUPS = "/v1/topups"


def top_up(client: ApiClient, amount: int = 5000, **changes: Any) -> Answer:
    """Ask for a topup; `idempotency_key` is a header, the rest is the body."""
    headers = {"idempotency_key": key} if (key := changes.pop("idempotency_key", "")) else {}
    return client.post(TOPUPS, {"amount": amount, "currency": "try", **changes}, **headers)


def awaited(client: ApiClient, amount: int = 5000, **changes: Any) -> Answer:
    """Make a topup whose transfer the test sends, or does not."""
    return top_up(client, amount, source="test_never", **changes)


def shown(client: ApiClient, topup_id: str) -> Answer:
    return client.get(f"{TOPUPS}/{topup_id}")


def status(topup_id: str) -> str:
    found: str = Topup.objects.values_list("status", flat=True).get(id=topup_id)
    return found


def come() -> None:
    """Let the bank hear of what is to come, and take its notices in, as beat does."""
    tasks.tell_bank()
    hear()


def come_after(seconds: float) -> None:
    clock.advance(timedelta(seconds=seconds))
    come()


def sent(text: str, amount: int = 5000, currency: str = "try") -> str:
    """Send a transfer to the bank, and take its notice in; return the bank's name of it."""
    reference = incoming.receive(amount=amount, currency=currency, remittance=text)
    hear()
    return reference


def taken_back(reference: str) -> None:
    decisions.take_back(reference)
    hear()


def case(reference: str) -> IncomingTransfer:
    found: IncomingTransfer = IncomingTransfer.objects.get(reference=reference)
    return found


def came_in() -> list[tuple[int, str, int]]:
    """Return amount, state and what moved of each transfer in of the bank's book."""
    rows = AtTheBank.objects.order_by("id")
    return [(one.amount, one.state, sum(one.moves.values_list("amount", flat=True)))
            for one in rows]  # fmt: skip


def told(client: ApiClient, topup_id: str) -> list[str]:
    return [event["type"].removeprefix("topup.") for event in client.events_of(topup_id)]
