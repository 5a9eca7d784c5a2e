"""Payments that the bank never answers, the operators who decide them, and the bank's late word."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Permission
from django.db import connections, transaction

from acquirers.conversation import leases
from cases import cases
from cases.models import Case, CaseChange, CaseNote
from cases.refusals import BankIsBeingAsked, CaseChanged
from cases.states import CaseDecision, CaseKind
from core import clock
from merchants.models import AuditEntry, User
from payments.bank import modification_rows
from payments.charging import tasks
from payments.deciding import decisions
from payments.deciding.decisions import Decided, GivenDecision
from payments.intents.models import Attempt
from payments.intents.states import ModificationKind
from testbank.models import Authorization
from tests.stage.bank_days import begin_at_noon, wait_for_refunds
from tests.stage.bank_transport import BankTransport, call_bank
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.sweeper import sweep_after

NEVER_KNOWN = "4000001100000058"
REASON = "Ms Demir of the bank's card desk read it to me by telephone."
DAY = timedelta(days=1)
# Where a decision can die; the last one is behind its transaction.
DECISIONS_BOUNDARIES = (
    "decision: after_the_lease",
    "decision: while_the_bank_works",
    "decision: after_the_bank_answered",
    "decision: inside_the_transaction",
    "decision: before_the_commit",
    "decision: after_the_commit",
)
REFUSED = (BankIsBeingAsked, CaseChanged)
YES, NO = "pend_then_approve", "pend_then_decline"


def an_operator(email: str = "operator@pay.example", *permissions: str) -> User:
    """Return an operator who may decide cases, or who has the named permissions."""
    user = User.objects.create_user(email, "a long enough password", is_staff=True)
    names = permissions or ("resolve_case", "view_case")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return User.objects.get(pk=user.pk)


def silent_case(shop: ApiClient, **terms: object) -> Case:
    """Return the case of a payment that the bank has not answered for an hour."""
    begin_at_noon()
    paid = shop.pay(NEVER_KNOWN, **terms)
    assert paid["status"] == "processing"
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return Case.objects.get(intent=paid["id"])


def silent_modification(
    shop: ApiClient, bank: Any, act: str = "capture", *, number: str = GOOD_CARD
) -> Case:
    """Return the case of a capture, or a cancellation, that the bank has not answered for an hour.

    The bank stays out of reach; what it never got lies in `bank.lost`.
    """
    begin_at_noon()
    paid = shop.pay(number, capture_method="manual")
    bank.fault = "lost"
    shop.post(f"/v1/payment_intents/{paid['id']}/{act}")
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return Case.objects.get(intent=paid["id"])


def silent_refund(shop: ApiClient, bank: Any, amount: int | None) -> Case:
    """Return the case of a refund that the bank has not answered for an hour.

    :param amount: in minor units; None for all of it, which is a void.
    """
    bank.fault = None
    begin_at_noon()
    paid = shop.pay()
    if amount is not None:
        wait_for_refunds(bank)
    bank.fault = "lost"
    refund = shop.refund(paid["id"], amount)
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return Case.objects.get(operation_id=refund["id"])


def dead_capture(shop: Any) -> Case:
    """Return the case of a capture whose process died before it asked the bank."""
    begin_at_noon()
    paid = shop.pay(capture_method="manual")
    attempt = Attempt.objects.get(id=paid["latest_attempt"])
    with transaction.atomic():
        row = modification_rows.begin(attempt, ModificationKind.CAPTURE, amount=attempt.amount)
    leases.give_back(row)
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return Case.objects.get(intent=paid["id"])


def does_it_late(bank: BankTransport) -> None:
    """Let the test bank get by now what was lost on its way, and be reached again."""
    bank.fault = None
    for request in bank.lost:
        call_bank(*request, bank.content_type)
    bank.lost.clear()


def a_case_of(payment_id: str) -> Case:
    """Return a case about a payment, with history and a note, whatever it may be about."""
    attempt = Attempt.objects.get(intent=payment_id)
    case = cases.open_case(CaseKind.BANK_CONTRADICTS_BOOK, attempt, finding="Planted.")
    assert case is not None
    author = User.objects.get_or_create(email="writer@pay.example")[0]
    CaseNote.objects.create(
        merchant_id=case.merchant_id, case=case, author=author, text="-", created_at=clock.now()
    )
    return case


def decide(
    operator: User,
    case: Case,
    decision: CaseDecision,
    *,
    reason: str = REASON,
    seen: int | None = None,
) -> Decided:
    """Decide as the desk does, on the case as it was read."""
    word = GivenDecision(decision, reason, case.version if seen is None else seen)
    return decisions.decide(operator, case.id, word)


def ended(call: Callable[[], Any]) -> str:
    """Return how a decision ended, as one word."""
    try:
        decided = call()
    except REFUSED as refusal:
        return type(refusal).__name__
    return "bank" if decided.by_bank else "decided"


def in_background(pool: ThreadPoolExecutor, call: Callable[[], Any]) -> Any:
    """Begin a call in a thread of its own; return its future."""

    def work() -> Any:
        try:
            return call()
        finally:
            connections.close_all()

    return pool.submit(work)


def decisions_written() -> tuple[int, int]:
    """Return how many decisions the audit log has, and how many the histories of cases."""
    entries = AuditEntry.objects.filter(action="case.decided").count()
    return entries, CaseChange.objects.filter(act="decided").count()


def the_bank_says(behaviour: str) -> None:
    """Let the bank decide at last, and tell at the next question."""
    Authorization.objects.update(behaviour=behaviour, answered=True)


def a_day_passes() -> None:
    """Let the sweeper ask once more; a process of its own would do it within seconds."""
    sweep_after(DAY.total_seconds())


def acts(case: Case) -> list[str]:
    """Return the steps of the case's history."""
    return list(CaseChange.objects.filter(case=case).order_by("id").values_list("act", flat=True))


def attempt_of(case: Case) -> Attempt:
    """Return the attempt as it is now."""
    found: Attempt = Attempt.objects.get(id=case.attempt_id)
    return found
