"""`manage.py audit`: clean books pass, and each difference that can be planted is named (I7)."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Model

from core import clock
from merchants import accounts
from testbank.models import Authorization, Capture, Reversal
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import past_guards
from tests.stage.factories import DECLINED_CARD, MerchantFactory, unconfirmed
from tests.stage.sweeper import sweep_after

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

CHARGED, NEVER_KNOWN = "4000001100000017", "4000001100000058"
DEBIT = "4766620000000001"


def audit(*options: str) -> tuple[int, str]:
    """Run the command; return its exit status and what it said."""
    said = StringIO()
    try:
        call_command("audit", *options, stdout=said)
    except SystemExit as end:
        return int(end.code), said.getvalue()
    return 0, said.getvalue()


@pytest.fixture
def paid(acme: ApiClient, bank: BankTransport) -> dict[str, str]:
    """A charged payment: its ids by kind, as sentences name them."""
    answer = acme.pay()
    connection.check_constraints()  # As a commit would, before anything is planted.
    [reference] = Authorization.objects.values_list("reference", flat=True)
    return {
        "payment": answer["id"],
        "attempt": answer["latest_attempt"],
        "reference": reference,
        "merchant": acme.merchant.id,
    }


def test_events_of_a_changed_account_are_those_of_an_object(
    acme: ApiClient, bank: BankTransport
) -> None:
    accounts.change(acme.merchant, {"status": "restricted"})
    accounts.change(acme.merchant, {"status": "active"})

    status, said = audit()

    assert status == 0, said


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_more_attempts_than_are_read_at_once_are_all_compared(
    chunk: int, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        acme.pay()
    monkeypatch.setattr("audit.bank.CHUNK", chunk)

    status, said = audit()

    assert status == 0, said
    assert "the bank's book is ours: 3 looked at, ok" in said


@pytest.mark.parametrize("lines", [1, 2, 3, 4])
def test_a_statement_of_many_pages_is_read_to_its_end(
    lines: int, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        acme.post("/v1/refunds", {"payment_intent": acme.pay()["id"], "amount": 100})
    monkeypatch.setattr("testbank.statements.LINES", lines)

    status, said = audit()

    assert status == 0, said
    assert "the bank's book is ours: 3 looked at, ok" in said


def test_payments_of_every_fate_are_clean(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    for client in (acme, globex):
        client.pay()
        client.pay(capture_method="manual")
        client.pay(CHARGED)
        client.pay(DECLINED_CARD)
        client.pay(DEBIT, return_url="https://acme.example/back")
        client.post("/v1/payment_intents", unconfirmed())
    bank.fault = "cut_before"
    acme.pay()
    bank.fault = None
    sweep_after(10)

    status, said = audit()

    assert (status, said.count("DIFFERENT"), said.count("UNKNOWN")) == (0, 0, 0), said
    assert "the bank's book is ours: 10 looked at, ok" in said
    assert "payments have their events: 12 looked at, ok" in said


def test_what_nobody_knows_yet_is_listed_and_is_no_difference(
    acme: ApiClient, bank: BankTransport
) -> None:
    waiting = acme.pay(CHARGED), acme.pay(NEVER_KNOWN)

    status, said = audit()

    assert status == 0
    for answer in waiting:
        [line] = [line for line in said.splitlines() if answer["id"] in line]
        assert line.strip().startswith("UNKNOWN")
        assert answer["latest_attempt"] in line


def test_a_bank_that_cannot_be_read_proves_nothing(
    acme: ApiClient, paid: dict[str, str], bank: BankTransport
) -> None:
    bank.fault = "garble"

    with pytest.raises(CommandError, match="cannot be read"):
        audit()


# --- Each difference, planted -----------------------------------------------------------------


def unguarded(statement: str, *values: object, database: str = "default") -> None:
    """Write past every guard, as a bug in the database or a hand at its console would."""
    with past_guards(database) as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount > 0, "nothing planted"


def forgotten_by_the_bank(model: type[Model]) -> None:
    unguarded(f"DELETE FROM {model._meta.db_table}", database="bank")  # noqa: S608


def no_line_at_the_bank() -> None:
    forgotten_by_the_bank(Capture)
    forgotten_by_the_bank(Authorization)


def nothing_captured_at_the_bank() -> None:
    forgotten_by_the_bank(Capture)
    Authorization.objects.update(captured_amount=0)


def another_merchants_line() -> None:
    Authorization.objects.update(merchant="mer_another")


def another_amount_at_the_bank() -> None:
    Authorization.objects.update(amount=12600, captured_amount=12600)


def another_count_at_the_bank() -> None:
    Authorization.objects.update(installments=3)


def a_second_take_at_the_bank() -> None:
    Authorization.objects.get().captures.create(amount=12500, created_at=clock.now())


def a_take_that_the_bank_forgot() -> None:
    forgotten_by_the_bank(Capture)


def money_given_back_at_the_bank() -> None:
    Reversal.objects.create(
        authorization=Authorization.objects.get(), amount=12500, created_at=clock.now()
    )


def a_line_that_we_never_asked_for() -> None:
    Authorization.objects.update(reference="ref_unasked")


def an_entry_too_large() -> None:
    unguarded("UPDATE ledger_entry SET amount = amount - 1 WHERE amount < 0")


def a_fee_that_the_ledger_lacks() -> None:
    unguarded("UPDATE intents_attempt SET fee = 1")


def a_movement_without_entries() -> None:
    unguarded("DELETE FROM ledger_entry")


def no_movement() -> None:
    unguarded("DELETE FROM ledger_entry")
    unguarded("DELETE FROM ledger_movement")


def a_charge_of_nothing() -> None:
    unguarded("UPDATE intents_attempt SET status = 'failed', captured_minor = 0")


def another_merchants_movement() -> None:
    unguarded("UPDATE ledger_movement SET merchant_id = %s", MerchantFactory().id)


def a_payment_that_shows_less() -> None:
    unguarded("UPDATE intents_paymentintent SET captured_minor = 1, authorized_minor = 12500")


def a_payment_that_shows_a_surcharge() -> None:
    unguarded("UPDATE intents_paymentintent SET surcharge = 77, authorized_minor = 12577")


def a_payment_that_received_less() -> None:
    unguarded("UPDATE intents_paymentintent SET captured_surcharge = 77")


def a_payment_that_says_it_waits() -> None:
    unguarded("UPDATE intents_paymentintent SET status = 'processing'")


def another_card_shown_than_sent() -> None:
    unguarded("UPDATE intents_attempt SET card = jsonb_set(card, '{last4}', '\"0000\"')")


def an_event_in_the_middle_lost() -> None:
    unguarded("UPDATE events_event SET sequence = 3 WHERE sequence = 2")
    unguarded("UPDATE events_counter SET last = 3")


def the_last_event_lost() -> None:
    unguarded("DELETE FROM events_event WHERE sequence = 2")


def the_first_event_lost() -> None:
    unguarded("DELETE FROM events_event WHERE sequence = 1")


def all_events_lost() -> None:
    unguarded("DELETE FROM events_event")


def events_of_nothing() -> None:
    unguarded("UPDATE events_counter SET aggregate_id = 're_1' || aggregate_id")
    unguarded("UPDATE events_event SET aggregate_id = 're_1' || aggregate_id")


def a_payment_without_a_counter() -> None:
    unguarded("DELETE FROM events_counter")


PLANTED: list[tuple[Callable[[], None], str, str]] = [
    # the planted difference, the check that must find it, the object whose id it must name
    (no_line_at_the_bank, "the bank's book is ours", "attempt"),
    (nothing_captured_at_the_bank, "the bank's book is ours", "attempt"),
    (another_merchants_line, "the bank's book is ours", "attempt"),
    (another_amount_at_the_bank, "the bank's book is ours", "payment"),
    (another_count_at_the_bank, "the bank's book is ours", "attempt"),
    (a_second_take_at_the_bank, "the bank's book is ours", "attempt"),
    (a_take_that_the_bank_forgot, "the bank's book is ours", "attempt"),
    (money_given_back_at_the_bank, "the bank's book is ours", "attempt"),
    (a_line_that_we_never_asked_for, "the bank's book is ours", "attempt"),
    (an_entry_too_large, "movements sum to zero", "attempt"),
    (an_entry_too_large, "charged attempts are in the ledger", "attempt"),
    (a_fee_that_the_ledger_lacks, "charged attempts are in the ledger", "attempt"),
    (a_movement_without_entries, "movements sum to zero", "attempt"),
    (no_movement, "charged attempts are in the ledger", "payment"),
    (a_charge_of_nothing, "charges in the ledger have their attempt", "attempt"),
    (another_merchants_movement, "balances are their entries", "merchant"),
    (a_payment_that_shows_less, "payments show what their attempts did", "payment"),
    (a_payment_that_shows_a_surcharge, "payments show what their attempts did", "payment"),
    (a_payment_that_received_less, "payments show what their attempts did", "payment"),
    (a_payment_that_says_it_waits, "payments in processing wait for the bank", "payment"),
    (a_payment_that_says_it_waits, "payments show what their attempts did", "payment"),
    (a_payment_that_says_it_waits, "payments have their events", "payment"),
    (another_card_shown_than_sent, "attempts show the card that they send", "attempt"),
    (an_event_in_the_middle_lost, "events of an object have no gap", "payment"),
    (the_first_event_lost, "events of an object have no gap", "payment"),
    (all_events_lost, "events of an object have no gap", "payment"),
    (events_of_nothing, "events of an object have no gap", "payment"),
    (the_last_event_lost, "events of an object have no gap", "payment"),
    (the_last_event_lost, "payments have their events", "payment"),
    (a_payment_without_a_counter, "payments have their events", "payment"),
]


@pytest.mark.dear("audits the books for each difference")
@pytest.mark.every_case("each difference in the books must be found")
@pytest.mark.parametrize(
    ("plant", "check", "named"), PLANTED, ids=[f"{p.__name__}: {check}" for p, check, _ in PLANTED]
)
def test_a_planted_difference_is_named(
    plant: Callable[[], None], check: str, named: str, acme: ApiClient, paid: dict[str, str]
) -> None:
    assert audit()[0] == 0
    plant()

    status, said = audit()

    assert status == 1
    assert paid[named] in differences_of(check, said)


def test_a_payment_that_waits_for_nobody_is_named(acme: ApiClient, bank: BankTransport) -> None:
    waiting = acme.pay(CHARGED)
    connection.check_constraints()
    unguarded("UPDATE intents_attempt SET status = 'failed', closed_at = now(), due_at = NULL")
    no_line_at_the_bank()

    status, said = audit()

    assert (status, said.count("DIFFERENT")) == (1, 1), said
    assert waiting["id"] in differences_of("payments in processing wait for the bank", said)


@pytest.mark.parametrize(("days", "status"), [(89, 1), (91, 0)])
@pytest.mark.parametrize("lost", [the_first_event_lost, all_events_lost])
def test_events_older_than_their_retention_may_be_gone(
    lost: Callable[[], None], days: int, status: int, acme: ApiClient, paid: dict[str, str]
) -> None:
    age = "created_at = created_at - make_interval(days => %s)"
    unguarded(f"UPDATE intents_paymentintent SET {age}", days)  # noqa: S608
    lost()

    assert audit()[0] == status


def differences_of(check: str, said: str) -> str:
    _before, _found, after = said.partition(f"{check}: ")
    lines = after.splitlines()[1:]
    own = [line for line in lines if line.startswith("  ")]
    return "\n".join(own[: next((n for n, x in enumerate(lines) if not x.startswith("  ")), None)])


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_payment_made_during_the_audit_is_no_difference(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme.pay()
    real = bank.send

    def send(request: object, **options: object) -> object:
        if "/statement" in request.url:
            monkeypatch.setattr(bank, "send", real)
            acme.twin().pay()
        return real(request, **options)

    monkeypatch.setattr(bank, "send", send)

    status, said = audit()

    assert (status, said.count("UNKNOWN")) == (0, 0), said
    assert Authorization.objects.count() == 2
