"""A slow acquirer: each request that asks it has a slot first, or is refused before anything."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

from acquirers import slots
from core import context
from events.models import Event
from merchants.models import IdempotencyKey
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.all_taken import all_slots_taken
from tests.stage.bank_transport import BankTransport, an_order, sandbox
from tests.stage.client import Answer, ApiClient
from tests.stage.doors import DOORS, STARTS, WALKED
from tests.stage.factories import confirmation, payment, unconfirmed
from tests.stage.sweeper import Died, dies, leases_run_out, sweep_after
from tests.stage.walks import SECURE, Walk
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"
BUSY = (503, "upstream_unavailable", None)
STORED: list[type[Model]] = [PaymentIntent, Attempt, Event, SealedCard, IdempotencyKey]
MANUAL = {"capture_method": "manual"}
NEVER_KNOWN = "4000001100000058"

Call = Callable[[], Answer]


def stored() -> list[Any]:
    """Return every row that a payment may make or change."""
    return [list(kind.objects.order_by("pk").values()) for kind in STORED]


def in_use() -> int:
    return slots.places().in_use


@pytest.fixture(autouse=True)
def _nobody_waits_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "MERCHANT_WAITS_SECONDS", 0.01)
    monkeypatch.setattr(slots, "PAYER_WAITS_SECONDS", 0.01)


# --- The doors ----------------------------------------------------------------------------------


def at(walk: Walk, door: str, body: dict[str, Any] | None = None) -> Call:
    path = f"{PATH}/{walk.payment_id}{door}"
    return lambda: walk.shop.post(path, body, idempotency_key="order 7")


# Each begins with what has to be there, and returns the call that asks the bank.
ASKING: dict[str, Callable[[Walk], Call]] = {
    "create and confirm": lambda w: lambda: w.shop.post(PATH, payment(), idempotency_key="order 7"),
    "confirm the stored card": lambda w: at(w.create(**unconfirmed()), "/confirm"),
    "confirm another card": lambda w: at(w.create(), "/confirm", confirmation()),
    "confirm instead of the payer": lambda w: at(w.pay(**SECURE), "/confirm", confirmation()),
    "capture": lambda w: at(w.pay(**MANUAL), "/capture"),
    "cancel": lambda w: at(w.pay(**MANUAL), "/cancel"),
    "capture, asking first": lambda w: at(
        w.pay(**MANUAL).cut_off("lost").cancel().reach_again(), "/capture"
    ),
    "cancel, asking first": lambda w: at(w.pay(NEVER_KNOWN, **MANUAL), "/cancel"),
}


@pytest.mark.parametrize("door", ASKING)
def test_without_a_slot_nothing_is_stored_and_the_key_stays_free(
    door: str, acme: ApiClient, bank: BankTransport
) -> None:
    ask = ASKING[door](Walk(acme, bank))
    before, asked = stored(), len(bank.seen)

    with all_slots_taken():
        refused = ask()

    assert (refused.refusal, refused.headers["Retry-After"]) == (BUSY, "1")
    assert (stored(), len(bank.seen)) == (before, asked)
    assert ask().status in (200, 400)  # 400: the bank still does not know.
    assert len(bank.seen) > asked


def lost(client: ApiClient, path: str, body: dict[str, Any]) -> Call:
    """Let a request die before the bank is asked, and return its retry."""
    with dies(sandbox().session, "get_adapter"), pytest.raises(Died):
        client.post(path, body, idempotency_key="order 7")
    leases_run_out()
    return lambda: client.post(path, body, idempotency_key="order 7")


@pytest.mark.parametrize("action", ["create", "capture"])
def test_without_a_slot_the_retry_of_a_request_that_died_leaves_it_as_it_was(
    action: str, acme: ApiClient, bank: BankTransport
) -> None:
    path, body = PATH, payment()
    if action == "capture":
        path, body = f"{PATH}/{acme.pay(**MANUAL)['id']}/capture", {}
    retry = lost(acme, path, body)
    kept = IdempotencyKey.objects.values("request_id", "object_id", "is_finished").get()

    with all_slots_taken():
        assert retry().refusal == BUSY
        assert retry().refusal == BUSY  # And not 409: nobody is at work.

    assert IdempotencyKey.objects.values("request_id", "object_id", "is_finished").get() == kept
    assert (retry().status, PaymentIntent.objects.get().status) == (200, "succeeded")


@pytest.mark.every_case("the states of money and of banks' answers")
@pytest.mark.parametrize(("status", "name"), WALKED)
def test_without_a_slot_no_door_reaches_the_bank(
    status: str, name: str, acme: ApiClient, bank: BankTransport
) -> None:
    walk = STARTS[status][name](Walk(acme, bank))
    asked = len(bank.seen)
    doors = [door for door in DOORS if not door.startswith("sweep")]

    with all_slots_taken():
        for door in doors:
            with walk.rehearsal():
                DOORS[door](walk)
                assert walk.answered is None or walk.answered.status != 500, door

    assert (len(doors), len(bank.seen)) == (len(DOORS) - 2, asked)


@pytest.mark.parametrize("door", ASKING)
def test_a_door_without_a_slot_is_stopped_before_it_asks_the_bank(
    door: str, acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ASKING[door](Walk(acme, bank))
    asked = len(bank.seen)
    monkeypatch.setattr(slots, "_slot", lambda *_where, **_how: nullcontext())

    assert ask().status == 500

    assert len(bank.seen) == asked


def test_a_request_holds_one_slot_however_many_of_its_steps_want_one(
    acme: ApiClient, bank: BankTransport
) -> None:
    with context.work() as work:
        work.is_request = True
        with slots.for_merchant("mer_1"), slots.for_payer_of("mer_1"):
            assert in_use() == 1

    assert in_use() == 0


@pytest.mark.parametrize("number", ["4242424242424242", "4000000000000002", NEVER_KNOWN])
def test_a_slot_is_given_back_however_the_payment_ends(
    number: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(number)
    acme.post(PATH, payment(payment_method_data=None))

    assert in_use() == 0


def test_the_sweeper_needs_no_slot(acme: ApiClient, bank: BankTransport) -> None:
    bank.fault = "cut_after"
    paid = acme.pay()
    bank.fault = None

    with all_slots_taken():
        sweep_after(10)

    assert acme.payment(paid["id"])["status"] == "succeeded"


def test_outside_of_requests_the_bank_is_asked_without_a_slot(
    acme: ApiClient, bank: BankTransport
) -> None:
    with context.work(), all_slots_taken():
        sandbox().inquire(an_order("ref_1"))

    assert len(bank.seen) == 1


# --- What asks no bank --------------------------------------------------------------------------


def test_reads_and_health_need_no_slot(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    with all_slots_taken():
        assert acme.payment(paid["id"]).status == 200
        assert acme.get(f"{PATH}?include[]=total_count").status == 200
        assert acme.post(f"{PATH}/{paid['id']}", {"description": "Tea"}).status == 200
        assert acme.post(PATH, {"amount": 100, "currency": "try"}).status == 200
        assert Client().get("/livez").status_code == 200


def test_a_retry_of_what_was_done_needs_no_slot(acme: ApiClient, bank: BankTransport) -> None:
    first = acme.post(PATH, payment(), idempotency_key="k")
    IdempotencyKey.objects.update(response_status=None, sealed_response=None)

    with all_slots_taken():
        again = acme.post(PATH, payment(), idempotency_key="k")

    assert (again.status, again["id"]) == (200, first["id"])
