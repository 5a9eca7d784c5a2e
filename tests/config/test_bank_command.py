"""`manage.py bank`: the sandbox's bank decides, by the service's ids."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments.intents.models import Attempt
from testbank.models import Authorization, Dispute
from tests.stage.bank_disputes import told
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient
from tests.stage.factories import payment
from tests.stage.garanti.way import garanti_carried
from tests.stage.nestpay.way import nestpay_carried
from tests.stage.notifier import take_in

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DECISIONS = ["win", "lose", "escalate", "regain", "end", "dispute", "inquiry", "bounce", "reverse"]


def say(*arguments: str) -> str:
    said = StringIO()
    call_command("bank", *arguments, stdout=said)
    return said.getvalue()


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> str:
    return str(acme.post("/v1/payment_intents", payment(), idempotency_key="k")["id"])


def test_a_payment_is_disputed_by_its_id(paid: str) -> None:
    assert say("dispute", paid).startswith(f"dispute {paid}: done.")

    [row] = Dispute.objects.select_related("authorization")
    assert (row.reason, row.amount, row.state) == ("fraudulent", 12500, "open")


def test_an_inquiry_has_the_terms_that_were_said(paid: str) -> None:
    say("inquiry", paid, "--reason", "duplicate", "--amount", "5000")

    [row] = Dispute.objects.all()
    assert (row.reason, row.amount, row.state) == ("duplicate", 5000, "inquiry")
    assert told() == ["inquiry_opened"]


@pytest.mark.parametrize(
    "terms", [("--amount", "0"), ("--amount", "12501"), ("--amount=-1",), ("--reason", "because")]
)
def test_terms_that_are_none_change_nothing(terms: tuple[str, ...], paid: str) -> None:
    with pytest.raises(CommandError, match="left to dispute|The reasons are"):
        say("dispute", paid, *terms)

    assert not Dispute.objects.exists()


def test_a_payment_that_was_not_charged_is_not_disputed(
    acme: ApiClient, bank: BankTransport
) -> None:
    waiting = acme.post("/v1/payment_intents", {"amount": 12500, "currency": "try"})

    with pytest.raises(CommandError, match="nothing that the bank could dispute"):
        say("dispute", waiting["id"])


def dispute_of(acme: ApiClient) -> Answer:
    """Hear the bank's notices, and return the one dispute."""
    take_in()
    [dispute] = acme.get("/v1/disputes")["data"]
    return dispute


@pytest.mark.parametrize(
    ("opening", "decision", "status"),
    [
        ("dispute", "win", "won"),
        ("dispute", "lose", "lost"),
        ("inquiry", "end", "warning_closed"),
        ("inquiry", "escalate", "needs_response"),
    ],
)
def test_a_dispute_is_decided_by_its_id(
    opening: str, decision: str, status: str, acme: ApiClient, paid: str
) -> None:
    say(opening, paid)

    say(decision, dispute_of(acme)["id"])

    assert dispute_of(acme)["status"] == status


def test_a_lost_dispute_is_regained_by_its_id(acme: ApiClient, paid: str) -> None:
    say("dispute", paid)
    dispute = dispute_of(acme)["id"]
    say("lose", dispute)

    say("regain", dispute)

    assert dispute_of(acme)["status"] == "won"
    with pytest.raises(CommandError, match="The dispute is regained at the bank"):
        say("win", dispute)


def test_a_refund_bounces_by_its_id(acme: ApiClient, paid: str) -> None:
    refund = acme.refund(paid, 5000)
    assert refund["status"] == "succeeded"

    say("bounce", refund["id"])

    take_in()
    assert acme.refunded(refund["id"])["status"] == "failed"


def test_a_payment_is_reversed_by_its_id(paid: str) -> None:
    assert say("reverse", paid).startswith(f"reverse {paid}: done.")

    assert Authorization.objects.get().state == "voided"


@pytest.mark.parametrize("decision", DECISIONS)
def test_what_is_unknown_is_said_so(decision: str) -> None:
    with pytest.raises(CommandError, match=f"nothing that the bank could {decision}"):
        say(decision, "pi_unknown")


@pytest.mark.parametrize("arguments", [(), ("win",), ("pay", "pi_1"), ("win", "dp_1", "dp_2")])
def test_a_command_of_another_form(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        say(*arguments)


def test_a_live_installation_has_no_such_bank(settings: Any) -> None:
    settings.LIVEMODE = True

    with pytest.raises(CommandError, match="live"):
        say("dispute", "pi_unknown")


@pytest.mark.parametrize("chosen", ["nestpay", "garanti"])
def test_a_merchants_payments_are_led_to_a_door_and_back(
    chosen: str, acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    for _ in range(2):  # Each start of a sandbox leads them there.
        say("door", chosen, "--merchant", acme.merchant.id)
    there, theirs = _terminal_of(acme), _terminal_of(globex)
    say("door", "sandbox", "--merchant", acme.merchant.id)

    assert (there, theirs, _terminal_of(acme)) == (chosen, "sandbox", "sandbox")
    with pytest.raises(CommandError, match="no such merchant"):
        say("door", chosen, "--merchant", "mer_none")


def test_a_merchants_payments_go_from_door_to_door(acme: ApiClient, bank: BankTransport) -> None:
    say("door", "nestpay", "--merchant", acme.merchant.id)
    say("door", "garanti", "--merchant", acme.merchant.id)

    assert _terminal_of(acme) == "garanti"


def _terminal_of(client: ApiClient) -> str:
    """Return the kind of the terminal that a new payment goes to, whatever becomes of it."""
    with nestpay_carried(), garanti_carried():
        return str(Attempt.objects.get(id=client.pay()["latest_attempt"]).terminal.kind)
