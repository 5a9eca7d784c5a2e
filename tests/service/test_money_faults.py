"""The state machine of money finds the faults that it is there for."""

from collections.abc import Callable

import pytest
from django.db import DatabaseError
from hypothesis import Phase

from acquirers.notices import applying
from acquirers.notices.models import Notice
from ledger import book
from ledger.charges import Charge
from payments.disputes import decisions
from payments.intents import given_back
from payments.intents.models import Attempt, PaymentIntent
from payments.refunds import render, steps
from payments.refunds.models import Refund
from payments.refunds.states import FailureReason
from tests.service.test_money import run
from tests.stage.lengths import SEED

pytestmark = [
    pytest.mark.django_db(databases=["default", "bank"]),
    pytest.mark.timeout(3600),
    pytest.mark.proof(part="money"),
    pytest.mark.dear("merchants whose money goes everywhere, until one of them misses some"),
]
# The conditions that show a fault are drawn, and some draws never bring them about.
MOST_DRAWS = 10
EXAMPLES = 5
# The database's own guards find some of it before the machine does.
FOUND = (AssertionError, DatabaseError)

Plant = Callable[[pytest.MonkeyPatch], None]


def without_the_surcharges_remainder(patch: pytest.MonkeyPatch) -> None:
    """Give back each refund's own share alone: what was cut off before stays for ever."""

    def share(charge: Charge, amount: int, whole: int, _back: int, _given: int) -> int:
        return whole * amount // charge.movement.card_money

    patch.setattr(Charge, "_share", share)


def without_giving_back(patch: pytest.MonkeyPatch) -> None:
    """Let a refund fail, and keep its money."""
    patch.setattr(steps, "_give_back", lambda _refund: None)


def without_giving_back_to_the_merchant(patch: pytest.MonkeyPatch) -> None:
    """Let the payment have the money of a failed refund back, and not the ledger."""
    patch.setattr(book, "refund_returned", lambda *_cause, **_facts: None)


def without_giving_back_to_the_payment(patch: pytest.MonkeyPatch) -> None:
    """Let the ledger have the money of a failed refund back, and not its payment."""
    patch.setattr(given_back, "give_back_refund", lambda _intent, _amount: None)


def each_notice_twice(patch: pytest.MonkeyPatch) -> None:
    """Apply each notice twice; that of a bounced refund does not look at what it was."""

    def bounced(notice: Notice, attempt: Attempt) -> None:
        found = Refund.objects.get(attempt=attempt, acquirer_reference=notice.refund_reference)
        refund = steps.locked(found)
        steps.fail(refund, FailureReason.UNKNOWN, render.refund(refund))

    def twice(once: Callable[[Notice, Attempt], None]) -> Callable[[Notice, Attempt], None]:
        def apply(notice: Notice, attempt: Attempt) -> None:
            once(notice, attempt)
            once(notice, attempt)

        return apply

    handlers = {**applying.HANDLERS, "refund_bounced": bounced}
    patch.setattr(applying, "HANDLERS", {kind: twice(one) for kind, one in handlers.items()})


def a_dispute_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """Take what is disputed from the payment twice, as if its notice had been applied twice."""

    def note(intent: PaymentIntent, change: int) -> None:
        given_back.note_dispute(intent, 2 * change)

    patch.setattr(decisions, "given_back", type("GivenBack", (), {"note_dispute": note}))


# Each with the ending on whose way it shows.
PLANTS: dict[Plant, str] = {
    without_the_surcharges_remainder: "waiting for funds",
    without_giving_back: "void become refund",
    without_giving_back_to_the_merchant: "void become refund",
    without_giving_back_to_the_payment: "bounced",
    each_notice_twice: "bounced",
    a_dispute_counted_twice: "lost",
}


@pytest.mark.planted
@pytest.mark.parametrize("plant", PLANTS)
def test_the_machine_finds_a_planted_fault(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)

    for number in range(SEED, SEED + MOST_DRAWS):
        try:
            run(PLANTS[plant], EXAMPLES, Phase.generate, draws=number)
        except FOUND as found:
            [said, *_] = str(found).splitlines() or [type(found).__name__]
            print(f"{plant.__name__}: draw {number}: {said[:300]}")  # noqa: T201
            return
    pytest.fail(f"{MOST_DRAWS} draws of {EXAMPLES} examples did not find it")
