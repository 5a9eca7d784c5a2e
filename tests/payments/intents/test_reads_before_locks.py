"""Use cases that read a row before they lock it take part in the encounters, and no others exist.

Every door that changes something is walked, and the statements that it sends are read. A new door
that decides on a row as it was before the lock is found here, and has to be let in there.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver

from acquirers.conversation import sweeper
from tests.service.test_other_merchants import ARGUMENT
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import of_amount, opened
from tests.stage.client import ApiClient
from tests.stage.complaints import TEXT, Complaint
from tests.stage.encounters import DOORS, PATH, STARTS
from tests.stage.factories import EndpointFactory, confirmation, payment, unconfirmed
from tests.stage.notifier import Notifier
from tests.stage.sweeper import sweep_after
from tests.stage.topups import awaited
from tests.stage.transfers import pay_out, rich

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

READ = re.compile(r'\b(?:FROM|JOIN) "?(\w+)"?')
WRITTEN = re.compile(r'^(?:UPDATE|DELETE FROM) "?(\w+)"?')
LOCKED = re.compile(r'FROM "?(\w+)"?.*FOR (?:NO KEY )?UPDATE', re.DOTALL)

INTENTS, ATTEMPTS = "intents_paymentintent", "intents_attempt"
MODIFICATIONS, REFUNDS = "intents_modification", "refunds_refund"
DELIVERIES, PAYOUTS = "disputes_disputedelivery", "payouts_payout"
# Tables of which a door reads rows that it locks later, and its name in the encounters.
READ_FIRST = {
    "post /v1/payment_intents/<str:intent_id>/confirm": ({INTENTS, ATTEMPTS}, "confirm"),
    "post /v1/payment_intents/<str:intent_id>/capture": (
        {INTENTS, ATTEMPTS, MODIFICATIONS},
        "capture",
    ),
    "post /v1/payment_intents/<str:intent_id>/cancel": (
        {INTENTS, ATTEMPTS, MODIFICATIONS},
        "cancel",
    ),
    "post /v1/refunds": ({INTENTS}, "refund"),
    "post /v1/refunds/<str:refund_id>/cancel": ({REFUNDS}, "cancel a refund"),
    "post /3ds/<str:token>/return": ({INTENTS, ATTEMPTS}, "come back"),
    "the sweeper": ({ATTEMPTS, MODIFICATIONS, REFUNDS, DELIVERIES, PAYOUTS}, "sweep"),
}
# A request's own key: found by its lease wherever it is written, so that no other's is.
OWN_CLAIM = {"merchants_idempotencykey"}
# Read and locked while the endpoint is locked, as everybody does who changes lanes of one.
UNDER_ANOTHER_LOCK = {
    "post /v1/webhook_endpoints/<str:endpoint_id>": {"webhooks_lane"},
    "delete /v1/webhook_endpoints/<str:endpoint_id>": {"webhooks_lane"},
}
# Read before the lock for the scope that its type asks for: an event never changes.
UNCHANGING = {"post /v1/events/<str:event_id>/resend": {"events_event"}}


def changing(patterns: Iterable[URLPattern | URLResolver], start: str = "/") -> list[str]:
    """Return every method and address below /v1 that changes something."""
    found: list[str] = []
    for pattern in patterns:
        address = start + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            found += changing(pattern.url_patterns, address)
        elif hasattr(pattern.callback, "actions") and address.startswith("/v1/"):
            methods = pattern.callback.actions.keys() - {"get", "head"}
            found += [f"{method} {address}" for method in methods]
    return sorted(found)


# Jobs that lock what they change, and read it then.
LOCK_FIRST = (
    "acquirers.notices.tasks.take_in", "acquirers.transfers.tasks.take_in",
    "ledger.tasks.advance_checkpoints", "ledger.tasks.settle_due", "payouts.tasks.pay_out_daily",
    "payouts.statements.tasks.close_months",
    "audit.daily.tasks.run_due", "audit.daily.tasks.forget_old", "audit.daily.tasks.digest_days",
    "merchants.tasks.send_owed_mails",
    "merchants.tasks.write_audit_tallies", "merchants.tasks.watch_unused_accounts",
    "payouts.topups.tasks.tell_bank",
    # It reads the heads, and writes nothing.
    "merchants.tasks.log_audit_heads",
    "payments.disputes.tasks.close_overdue", "payments.checkout.tasks.expire_due",
    "payments.checkout.tasks.destroy_held_cards",
    "api.tasks.forget_idempotency_keys", "api.tasks.forget_request_logs",
    "merchants.tasks.forget_sessions", "payments.charging.tasks.destroy_cards",
    "payments.charging.tasks.count_days",
    # It writes one row for each merchant, by INSERT … ON CONFLICT, and reads none of them.
    "payments.charging.tasks.watch_tested",
    "payments.charging.tasks.watch_cases",
    "payments.refunds.tasks.send_waiting", "webhooks.tasks.drain", "webhooks.tasks.forget_old",
)  # fmt: skip
API = changing(get_resolver().url_patterns)
BODIES = {
    "/v1/payment_intents": payment(),
    "/v1/payment_intents/<str:intent_id>": {"amount": 9_900, "metadata": {"a": "1"}},
    "/v1/payment_intents/<str:intent_id>/confirm": confirmation(),
    "/v1/checkout/sessions": of_amount(),
    "/v1/checkout/sessions/<str:session_id>": {"metadata": {"a": "1"}},
    "/v1/payouts": {"amount": 300, "currency": "try"},
    "/v1/payouts/<str:payout_id>": {"metadata": {"a": "1"}},
    "/v1/topups": {"amount": 300, "currency": "try"},
    "/v1/topups/<str:topup_id>": {"metadata": {"a": "1"}},
    "/v1/customers/<str:customer_id>": {"name": "Ayşe"},
    "/v1/disputes/<str:dispute_id>": {"evidence": TEXT, "submit": True},
    "/v1/webhook_endpoints": {"url": "https://acme.example/hooks", "enabled_events": ["*"]},
    "/v1/webhook_endpoints/<str:endpoint_id>": {"disabled": True},
}


@pytest.fixture
def ids(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> dict[str, str]:
    customer = acme.post("/v1/customers")["id"]
    endpoint = EndpointFactory(merchant=acme.merchant).id
    payment_id = acme.post(PATH, unconfirmed(customer=customer))["id"]
    event = acme.events_of(payment_id)[0]["id"]
    refund_id = STARTS["refund not sent"](acme) and acme.get("/v1/refunds")["data"][0]["id"]
    dispute = Complaint(acme, notifier).opened().id
    payout = pay_out(rich(acme))["id"]
    topup = awaited(acme)["id"]
    session = opened(acme)["id"]
    return {"intent_id": payment_id, "refund_id": refund_id, "customer_id": customer,
            "event_id": event, "endpoint_id": endpoint, "dispute_id": dispute,
            "payout_id": payout, "topup_id": topup, "session_id": session}  # fmt: skip


def ask(shop: ApiClient, door: str, ids: dict[str, str]) -> CaptureQueriesContext:
    method, address = door.split(" ", 1)
    body = BODIES.get(address)
    if address == "/v1/refunds":
        body = {"payment_intent": STARTS["charged"](shop).id}
    if address.endswith(("<str:intent_id>/capture", "<str:intent_id>/cancel")):
        ids = {**ids, "intent_id": STARTS["authorised"](shop).id}
    path = ARGUMENT.sub(lambda argument: ids[argument[1]], address)
    with CaptureQueriesContext(connection) as statements:
        if method == "delete":
            answer = shop.delete(path)
        else:
            answer = shop.post(path, body, idempotency_key=f"once {path}")
    assert answer.status == 200, answer.error
    return statements


def locked_after_reading(statements: Iterable[dict[str, str]]) -> set[str]:
    """Return the tables that were read without a lock, and locked or written later.

    What was locked in an earlier transaction is read without a lock from its end on.
    """
    read: set[str] = set()
    held: set[str] = set()
    found: set[str] = set()
    for one in statements:
        sql = one["sql"]
        if locked := LOCKED.search(sql):
            held |= {locked[1]}
            found |= {locked[1]} & read
        elif written := WRITTEN.match(sql):
            found |= {written[1]} & (read - held)
        elif sql.startswith("COMMIT"):
            read, held = read | held, set()
        elif sql.startswith("SELECT"):
            read |= set(READ.findall(sql))
    return found - OWN_CLAIM


def watched(use: Callable[[], Any]) -> set[str]:
    with CaptureQueriesContext(connection) as statements:
        use()
    return locked_after_reading(statements)


def known(door: str) -> set[str]:
    if door in READ_FIRST:
        return READ_FIRST[door][0]
    return UNDER_ANOTHER_LOCK.get(door, set()) | UNCHANGING.get(door, set())


@pytest.mark.parametrize("door", API)
def test_a_door_that_reads_before_it_locks_is_known(
    door: str, acme: ApiClient, ids: dict[str, str]
) -> None:
    assert locked_after_reading(ask(acme, door, ids)) == known(door)


def test_the_payers_return_and_the_sweeper_are_known(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, unknown = STARTS["payer away"](acme), STARTS["unknown"](acme)
    # As if rows of every kind were due: the sweeper reads no others.
    monkeypatch.setattr(sweeper, "models_with_due_rows", set)

    came_back = watched(lambda: DOORS["come back"](acme, away))
    swept = watched(lambda: sweep_after(15))

    assert came_back == known("post /3ds/<str:token>/return")
    assert swept == known("the sweeper")
    assert acme.payment(unknown.id)["status"] == "succeeded"


def test_every_door_that_reads_first_takes_part_in_the_encounters() -> None:
    taking_part = {name for _tables, name in READ_FIRST.values()}

    assert taking_part <= DOORS.keys()
    assert {door for door in READ_FIRST if "/v1/" in door} <= set(API)
    assert len(API) >= 12


def test_the_walk_sees_what_is_written_without_a_lock() -> None:
    read = {"sql": 'SELECT 1 FROM "intents_paymentintent"'}
    written = {"sql": 'UPDATE "intents_paymentintent" SET amount = 1'}
    locked = {"sql": 'SELECT 1 FROM "intents_paymentintent" FOR UPDATE'}

    assert locked_after_reading([read, written]) == {INTENTS}
    assert locked_after_reading([read, locked, written]) == {INTENTS}
    assert locked_after_reading([locked, written]) == set()


def test_every_job_is_known() -> None:
    """Jobs take what they change row by row, skipping what others hold; the sweeper is walked."""
    jobs = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    assert jobs == {"payments.intents.tasks.resolve_unknown", *LOCK_FIRST}
