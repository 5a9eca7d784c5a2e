"""A dispute's story: a payment, the bank that tells of it, its merchant, and the due date.

Each step returns the complaint, so that a story reads in one line; the merchant's last answer is
in `answered`.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Self

from django.db import transaction

from acquirers.notices.models import Notice
from core import clock, ids
from events.models import Event
from payments.disputes import render, tasks
from payments.disputes.models import Dispute
from payments.disputes.states import DisputeStatus
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.client import Answer, ApiClient
from tests.stage.notifier import TIME_TO_ANSWER, Notifier, another_dispute, take_in
from tests.stage.sweeper import sweep
from tests.stage.walks import Move, assert_tells_its_change

PATH = "/v1/disputes"
DATABASES = ("default", "bank")
TEXT = {"uncategorized_text": "It was delivered."}


class Complaint:
    """A charged payment of 125.00, and the dispute about it once the bank has told of one."""

    def __init__(self, shop: ApiClient, notifier: Notifier, **changes: Any) -> None:
        self.shop, self.notifier = shop, notifier
        self.payment_id: str = shop.pay(**changes)["id"]
        # The bank's name for it.
        self.bank_reference = another_dispute()
        self.answered: Answer | None = None

    # The bank.

    def told(self, kind: str, **facts: Any) -> Self:
        """Let the bank tell something of it, and the poller hear it."""
        facts = {"dispute": self.bank_reference, **facts}
        self.notifier.tell(kind, self.payment_id, **facts)
        take_in()
        return self

    def opened(self, **facts: Any) -> Self:
        return self.told("dispute_opened", **facts)

    def inquired(self, **facts: Any) -> Self:
        return self.told("inquiry_opened", **facts)

    def escalated(self, **facts: Any) -> Self:
        return self.told("dispute_escalated", **facts)

    def won(self) -> Self:
        return self.told("dispute_won")

    def lost(self) -> Self:
        return self.told("dispute_lost")

    # The merchant.

    def post(self, door: str, body: dict[str, Any] | None = None, **headers: str) -> Self:
        self.answered = self.shop.post(f"{PATH}/{self.id}{door}", body, **headers)
        return self

    def evidence(self, **texts: str | None) -> Self:
        return self.post("", {"evidence": texts or TEXT})

    def submit(self, **texts: str) -> Self:
        return self.post("", {"evidence": texts or TEXT, "submit": True})

    def close(self) -> Self:
        return self.post("/close")

    def note(self, **metadata: str) -> Self:
        return self.post("", {"metadata": metadata})

    # Time, and the sweeper.

    def days_pass(self, days: float = TIME_TO_ANSWER.days) -> Self:
        """Move the clock; no job has run yet."""
        clock.advance(timedelta(days=days))
        return self

    def jobs_run(self) -> Self:
        """Run the job of due dates, the poller and the sweeper once each."""
        tasks.close_overdue()
        take_in()
        sweep()
        return self

    # Where it stands.

    @property
    def row(self) -> Dispute:
        return render.DISPUTES.get(bank_reference=self.bank_reference)

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def status(self) -> str:
        return self.row.status

    @property
    def payment(self) -> PaymentIntent:
        return PaymentIntent.objects.get(id=self.payment_id)

    @property
    def is_notice_kept(self) -> bool:
        """Tell whether the last notice of it could not be applied."""
        rows = Notice.objects.filter(dispute=self.bank_reference)
        return rows.latest("number").applied_at is None

    def shown(self) -> dict[str, Any]:
        return json.loads(json.dumps(render.dispute(self.row)))

    def events(self) -> list[dict[str, Any]]:
        """Return its events as they were frozen, oldest first."""
        rows = Event.objects.filter(aggregate_id=self.id).order_by("sequence")
        return [json.loads(bytes(row.body)) for row in rows]

    def moves(self) -> list[Move]:
        """Return every change since the creation, each with its event checked."""
        first, *later = self.events()
        assert (first["type"], first["sequence"]) == ("dispute.created", 1)
        assert first["data"]["previous_attributes"] == {}
        moves, former = [], first["data"]["object"]
        for number, event in enumerate(later, start=2):
            assert event["sequence"] == number
            assert_tells_its_change(former, event["data"])
            after = event["data"]["object"]
            moves.append(Move(former["status"], after["status"], event["type"]))
            former = after
        return moves

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Undo afterwards whatever happens inside, at the bank too."""
        kept = self.answered, list(self.notifier.told), list(self.notifier.handed_in)
        begun = {name: transaction.savepoint(using=name) for name in DATABASES}
        try:
            yield
        finally:
            for name, savepoint in begun.items():
                transaction.savepoint_rollback(savepoint, using=name)
            self.answered, self.notifier.told, self.notifier.handed_in = kept


def dispute_past_the_bank(payment_id: str) -> Dispute:
    """Write an inquiry's row, past the bank: only for what the database itself refuses."""
    attempt = Attempt.objects.get(intent_id=payment_id)
    return Dispute.objects.create(
        id=ids.new("dp"),
        merchant_id=attempt.merchant_id,
        intent_id=payment_id,
        attempt=attempt,
        bank_reference=another_dispute(),
        amount=1,
        currency="try",
        status=DisputeStatus.WARNING_NEEDS_RESPONSE,
        reason="general",
        evidence_due_by=clock.now(),
        created_at=clock.now(),
    )


Story = Callable[[Complaint], Complaint]

# Disputes in every state.
STARTS: dict[str, Story] = {
    DisputeStatus.NEEDS_RESPONSE: lambda c: c.opened(),
    DisputeStatus.UNDER_REVIEW: lambda c: c.opened().submit(),
    DisputeStatus.WON: lambda c: c.opened().won(),
    DisputeStatus.LOST: lambda c: c.opened().lost(),
    DisputeStatus.WARNING_NEEDS_RESPONSE: lambda c: c.inquired(),
    DisputeStatus.WARNING_UNDER_REVIEW: lambda c: c.inquired().submit(),
    DisputeStatus.WARNING_CLOSED: lambda c: c.inquired().told("inquiry_closed"),
}
