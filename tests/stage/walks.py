"""One payment and everybody who can change it: its shop, its payer, the bank, the sweeper.

Each step returns the walk, so that a payment's story reads in one line; what was
answered last is in `answered`.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self
from unittest.mock import patch

from django.db import transaction

from acquirers.outcomes import NEVER_SENT, BankOperation, Finding, OperationKind, Outcome, Standing
from acquirers.outcomes import Answer as Says
from acquirers.sandbox.gateway import SandboxGateway
from core.redis import client as redis
from events.models import Event
from payments.intents import render
from payments.intents.models import PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import GOOD_CARD, RETURN_URL, confirmation, payment, three_d_secure
from tests.stage.oldbank.gateway import OldBankGateway
from tests.stage.sweeper import sweep_after
from tests.stage.threeds import Arrival, bring, decide

PATH = "/v1/payment_intents"
DATABASES = ("default", "bank")
WEEK = 7 * 86_400
NOT_SECURE = three_d_secure("none")
SECURE = {"return_url": RETURN_URL, **three_d_secure("required")}


class Move(NamedTuple):
    """One change of a payment's status, as its event told it."""

    before: str
    after: str
    event: str


class Walk:
    def __init__(self, shop: ApiClient, bank: BankTransport) -> None:
        self.shop, self.bank = shop, bank
        self.payment_id = ""
        self.answered: Answer | Arrival | None = None
        # The fields that the bank gave the payer's browser to bring to us.
        self.carried: dict[str, str] | None = None
        self._challenged: Answer | None = None

    # The shop.

    def create(self, **body: Any) -> Self:
        """Create a payment without a card, or with what else is said."""
        self.answered = self.shop.post(PATH, {"amount": 12500, "currency": "try", **body})
        self.payment_id = self.answered["id"]
        return self._noticing_a_challenge()

    def pay(self, number: str = GOOD_CARD, **changes: Any) -> Self:
        """Create and confirm a payment."""
        return self.create(**payment(number, **changes))

    def confirm(self, number: str | None = None, **changes: Any) -> Self:
        """Confirm with a card, or without."""
        sent = {**(confirmation(number) if number else {}), **changes}
        return self.post("/confirm", sent)._noticing_a_challenge()

    def capture(self, **body: Any) -> Self:
        return self.post("/capture", body)

    def cancel(self, reason: str | None = None) -> Self:
        return self.post("/cancel", {"cancellation_reason": reason})

    def update(self, **changes: Any) -> Self:
        return self.post("", changes)

    def post(self, door: str, body: dict[str, Any] | None = None) -> Self:
        self.answered = self.shop.post(f"{PATH}/{self.payment_id}{door}", body)
        return self

    # The payer.

    def decide(self, button: str) -> Self:
        """Go to the bank and press a button."""
        assert self._challenged, "the payer was never sent to the bank"
        self.carried = decide(self._challenged, button).fields
        return self

    def come_back(self, button: str = "Approve") -> Self:
        """Come back from the bank, once more if it was so before; nobody else can."""
        if self._challenged and not self.carried:
            self.decide(button)
        self.answered = bring(self.carried) if self.carried else None
        return self

    # The bank and the sweeper.

    def cut_off(self, fault: str) -> Self:
        """Break the way to the bank, as BankTransport says."""
        self.bank.fault = fault
        return self

    def reach_again(self) -> Self:
        self.bank.fault = None
        return self

    def sweep(self, seconds: int = WEEK, *, times: int = 1) -> Self:
        """Let time pass, and the sweeper ask the bank what is due."""
        for _ in range(times):
            sweep_after(seconds)
        return self

    # The walk's end.

    @property
    def status(self) -> str:
        return self._row().status

    def shown(self) -> dict[str, Any]:
        return json.loads(json.dumps(render.payment_intent(self._row())))

    def was_answered_well(self) -> bool:
        """Tell whether the last answer, if there is one, blames nobody but the bank's absence."""
        if self.answered is None or self.answered.status < 500:
            return True
        return self.answered.error["code"] == "upstream_unavailable"

    def events(self) -> list[dict[str, Any]]:
        """Return its events as they were frozen, oldest first."""
        rows = Event.objects.filter(aggregate_id=self.payment_id).order_by("sequence")
        return [json.loads(bytes(row.body)) for row in rows]

    def moves(self) -> list[Move]:
        """Return every change since the creation, each with its event checked."""
        first, *later = self.events()
        assert (first["type"], first["sequence"]) == ("payment_intent.created", 1)
        assert first["data"]["previous_attributes"] == {}
        moves, former = [], first["data"]["object"]
        for event in later:
            assert_tells_its_change(former, event["data"])
            after = event["data"]["object"]
            moves.append(Move(former["status"], after["status"], event["type"]))
            former = after
        return moves

    def told(self) -> dict[str, Any]:
        """Return the payment as its last event told it."""
        return self.events()[-1]["data"]["object"]

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Undo afterwards whatever happens inside: in databases, Redis and the bank's own book."""
        kept = self.answered, self.carried, self._challenged
        held = {name: redis().get(name) for name in redis().keys("held:*")}
        begun = {name: transaction.savepoint(using=name) for name in DATABASES}
        try:
            with self.bank.rehearsal():
                yield
        finally:
            for name, savepoint in begun.items():
                transaction.savepoint_rollback(savepoint, using=name)
            if held:
                redis().mset(held)
            self.answered, self.carried, self._challenged = kept
            self.bank.fault = None

    def _noticing_a_challenge(self) -> Self:
        if self.answered.status == 200 and self.answered["next_action"]:
            self._challenged, self.carried = self.answered, None
        return self

    def _row(self) -> PaymentIntent:
        return PaymentIntent.objects.get(id=self.payment_id)


@contextmanager
def every_question_answered(says: Says, *, captured: int | None = None) -> Iterator[None]:
    """Let the gateway bring one answer, whatever the bank is asked."""
    told = Outcome(says, authorization_code="A1B2C3", captured=captured)
    standing = standing_of(says, captured)

    def answer(*_question: Any, **_details: Any) -> Outcome:
        return told

    def inquire(*_question: Any) -> Standing:
        return standing

    with ExitStack() as stack:
        for gateway in (SandboxGateway, OldBankGateway):
            said = {"authorize": answer, "inquire": inquire, "capture": answer, "void": answer}
            stack.enter_context(patch.multiple(gateway, **said))
        yield


def standing_of(says: Says, captured: int | None) -> Standing:
    """Return what a bank has of an order whose inquiry is answered so."""
    if says in NEVER_SENT or says is Says.UNKNOWN:
        return Standing(Finding.UNKNOWN)
    if says is Says.NO_RECORD:
        return Standing(Finding.NO_RECORD)
    done = {Says.VOIDED: OperationKind.VOID, Says.LAPSED: OperationKind.LAPSE}.get(says)
    state = Says.APPROVED if done else says
    operations = [BankOperation(OperationKind.AUTHORIZATION, state)]
    operations += [BankOperation(OperationKind.CAPTURE, state, captured)] if captured else []
    operations += [BankOperation(done, state)] if done else []
    return Standing(Finding.FOUND, tuple(operations), authorization_code="A1B2C3")


def assert_tells_its_change(former: dict[str, Any], data: dict[str, Any]) -> None:
    """Hold an event against the one before: it tells all that changed, and only that.

    Laid over the object, the earlier values give the former object; absent counts as
    null (contract 2, Event).
    """
    now, told = data["object"], data["previous_attributes"]
    assert _not_null(_laid_over(now, told)) == _not_null(former)
    assert _needless(now, told) == []


def _laid_over(now: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    nested = {
        name: _laid_over(now[name], old)
        for name, old in told.items()
        if isinstance(old, dict) and isinstance(now.get(name), dict)
    }
    return {**now, **told, **nested}


def _not_null(shown: Any) -> Any:
    if not isinstance(shown, dict):
        return shown
    return {name: _not_null(value) for name, value in shown.items() if value is not None}


def _needless(now: dict[str, Any], told: dict[str, Any]) -> list[str]:
    """Return what is told although it did not change, nested names too."""
    found = []
    for name, old in told.items():
        new = now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _needless(new, old) if old else [name]
        elif old == new:
            found.append(name)
    return found
