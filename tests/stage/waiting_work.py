"""Work of every kind that waits for operators, of one shop."""

from datetime import timedelta

from django.utils import timezone

from audit.daily import overdue, runs
from audit.daily.models import DailyRun
from core import clock
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.client import ApiClient
from tests.stage.settlement_days import a_difference
from tests.stage.topups import case as transfer
from tests.stage.topups import sent
from tests.stage.transfers import pay_out, rich
from tests.stage.undecided import NEVER_KNOWN, a_case_of


def a_review(shop: ApiClient) -> str:
    paid: str = shop.pay()["id"]
    fraud = {"status": "review", "rule": "amount", "risk_level": "elevated", "risk_score": 70}
    PaymentIntent.objects.filter(id=paid).update(fraud=fraud)
    return paid


def a_late_payout(shop: ApiClient) -> str:
    made: str = pay_out(rich(shop))["id"]
    clock.advance(timedelta(hours=2))
    return made


def a_silent_terminal(shop: ApiClient) -> str:
    paid = shop.pay(NEVER_KNOWN)["id"]
    since = clock.now() - timedelta(hours=1)
    Attempt.objects.filter(intent=paid).update(asked_at=since)
    return f"{Attempt.objects.get(intent=paid).terminal_id}_{since:%Y%m%d}"


def a_failed_run() -> str:
    now = timezone.now()
    # A day whose runs are missed by now: within the grace the list names the day before it.
    day = runs.day_due(late=overdue.GRACE)
    for job in DailyRun.Job:
        is_audit = job == DailyRun.Job.AUDIT
        ended = {"status": "failed", "failure": "OSError"} if is_audit else {"status": "done"}
        DailyRun.objects.create(job=job, day=day, number=1, begun_at=now, ended_at=now, **ended)
    return f"audit_{day}"


def work_of_every_kind(shop: ApiClient) -> dict[str, str]:
    """Return the name of a piece of work of each kind."""
    late = a_late_payout(shop)
    return {
        "case": a_case_of(shop.pay()["id"]).id,
        "review": a_review(shop),
        "transfer": str(transfer(sent("?")).pk),
        "payout": late,
        "terminal": a_silent_terminal(shop),
        "difference": a_difference(shop.merchant).pk,
        "run": a_failed_run(),
    }
