"""A bank that tells by itself what a test lets it tell: notices, in any order, any number of times.

The sandbox's own bank tells of what has happened to its book; this one stands before it, for
stories that an honest bank never tells. It takes evidence and acceptances, too, or does not.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple
from unittest.mock import patch

from acquirers import references
from acquirers.calls import Course
from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.noticed import Notice, NoticeKind, NoticesUnreadable
from acquirers.notices import tasks
from acquirers.outcomes import Answer, Outcome
from acquirers.sandbox.gateway import SandboxGateway
from core import clock
from payments.intents.models import Attempt

TIME_TO_ANSWER = timedelta(days=10)
KINDS = {kind.value for kind in NoticeKind}


class Notifier:
    """The notices that the bank has, in the order in which it tells them.

    `away` are the names of terminals that the bank gives no notices; `asked` are the terminals,
    each with the number that the bank was asked to begin after. `handed_in` is what it was sent
    about disputes, and `says` its answer to that.
    """

    def __init__(self) -> None:
        self.told: list[Notice] = []
        self.asked: list[tuple[str, int]] = []
        self.away: set[str] = set()
        self.handed_in: list[HandedIn] = []
        self.says = Answer.APPROVED

    def tell(self, kind: str, payment_id: str, **facts: Any) -> Notice:
        """Let the bank have one more notice, about a payment's money; poll to hear it."""
        attempt = Attempt.objects.filter(intent_id=payment_id).latest("created_at")
        return self.tell_of(kind, attempt.acquirer_reference, **facts)

    def tell_of(self, kind: str, reference: str, **facts: Any) -> Notice:
        """Let the bank have one more notice, about any order."""
        terms = {
            "number": max((one.number for one in self.told), default=0) + 1,
            "refund_reference": None,
            "dispute": "BANK000000000000DP01",
            "amount": 12500,
            "currency": "try",
            "reason": "fraudulent",
            "network_reason_code": "10.4",
            "due_by": clock.now() + TIME_TO_ANSWER,
            "at": clock.now(),
        }
        known: Any = NoticeKind(kind) if kind in KINDS else kind
        notice = Notice(kind=known, reference=reference, **{**terms, **facts})
        self.told.append(notice)
        return notice

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice]:
        """Answer the gateway's question."""
        self.asked.append((terminal.name, after))
        if terminal.name in self.away:
            raise NoticesUnreadable
        return [one for one in self.told if one.number > after][:limit]

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        """Take evidence, or do not."""
        return self._handed_in(HandedIn(order.reference, dispute, number, dict(evidence)))

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        """Take an acceptance, or do not."""
        return self._handed_in(HandedIn(order.reference, dispute, None, None))

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        """Take the end of an inquiry, or do not."""
        return self._handed_in(HandedIn(order.reference, dispute, None, None, is_inquiry=True))

    def _handed_in(self, sent: "HandedIn") -> Outcome:
        self.handed_in.append(sent)
        return Outcome(self.says, exchange=Course().ended(code="00"))


class HandedIn(NamedTuple):
    """A submission, or an acceptance without number and evidence, as the bank got it.

    `is_inquiry`: it lets an inquiry end, and accepts nothing.
    """

    reference: str
    dispute: str
    number: int | None
    evidence: dict[str, str] | None
    is_inquiry: bool = False


@contextmanager
def notifier_behind() -> Iterator[Notifier]:
    """Let the sandbox's gateway hear what a test lets the bank tell."""
    notifier = Notifier()
    with patch.multiple(
        SandboxGateway,
        notices=lambda _gateway, *told, **more: notifier.notices(*told, **more),
        submit_evidence=lambda _gateway, *sent, **more: notifier.submit_evidence(*sent, **more),
        accept_dispute=lambda _gateway, *sent, **more: notifier.accept_dispute(*sent, **more),
        end_inquiry=lambda _gateway, *sent, **more: notifier.end_inquiry(*sent, **more),
    ):
        yield notifier


def take_in() -> None:
    """Run the poller once, as beat does every two seconds."""
    tasks.take_in()


def take_in_after(seconds: float) -> None:
    """Move the sandbox's clock, then run the poller once."""
    clock.advance(timedelta(seconds=seconds))
    take_in()


def another_dispute() -> str:
    """Return a name that a bank gives to a dispute."""
    return references.new()
