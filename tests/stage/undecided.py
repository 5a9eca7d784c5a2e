"""Payments that the bank never answers, the operators who decide them, and the bank's late word."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import Permission

from cases import cases
from cases.models import Case, CaseNote
from cases.states import Decision, Kind
from core import clock
from merchants.models import User
from payments.intents import deciding, tasks
from payments.intents.deciding import Decided, Word
from payments.intents.models import Attempt
from testbank.models import Authorization
from tests.stage.client import ApiClient
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
YES, NO = "pend_then_approve", "pend_then_decline"


def an_operator(email: str = "operator@pay.example", *permissions: str) -> User:
    """Return an operator who may decide cases, or who has the named permissions."""
    user = User.objects.create_user(email, "a long enough password", is_staff=True)
    names = permissions or ("resolve_case", "view_case")
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return User.objects.get(pk=user.pk)


def silent_case(shop: ApiClient, **terms: object) -> Case:
    """Return the case of a payment that the bank has not answered for an hour."""
    paid = shop.pay(NEVER_KNOWN, **terms)
    assert paid["status"] == "processing"
    clock.advance(timedelta(seconds=settings.CASE_AFTER_SECONDS))
    tasks.watch_cases()
    return Case.objects.get(intent=paid["id"])


def a_case_of(payment_id: str) -> Case:
    """Return a case about a payment, with history and a note, whatever it may be about."""
    attempt = Attempt.objects.get(intent=payment_id)
    case = cases.open_case(Kind.BANK_CONTRADICTS_BOOK, attempt, finding="Planted.")
    assert case is not None
    author = User.objects.get_or_create(email="writer@pay.example")[0]
    CaseNote.objects.create(
        merchant_id=case.merchant_id, case=case, author=author, text="-", created_at=clock.now()
    )
    return case


def decide(
    operator: User, case: Case, decision: Decision, *, reason: str = REASON, seen: int | None = None
) -> Decided:
    """Decide as the desk does, on the case as it was read."""
    word = Word(decision, reason, case.version if seen is None else seen)
    return deciding.decide(operator, case.id, word)


def the_bank_says(behaviour: str) -> None:
    """Let the bank decide at last, and tell at the next question."""
    Authorization.objects.update(behaviour=behaviour, answered=True)


def a_day_passes() -> None:
    """Let the sweeper ask once more; a process of its own would do it within seconds."""
    sweep_after(DAY.total_seconds())


def attempt_of(case: Case) -> Attempt:
    """Return the attempt as it is now."""
    found: Attempt = Attempt.objects.get(id=case.attempt_id)
    return found
