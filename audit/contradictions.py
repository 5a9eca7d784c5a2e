"""Cases of what the bank's book has otherwise than ours; one is closed once both agree."""

from django.db import transaction

from audit.report import Report
from cases import cases
from cases.models import Case
from cases.states import CaseDecision, CaseKind, CaseStatus
from payments.bank import attempts
from payments.intents.models import Attempt

KIND = CaseKind.BANK_CONTRADICTS_BOOK


def note(report: Report) -> None:
    """Open a case for each attempt that the bank contradicts, and close those that are over."""
    for attempt_id, said in report.contradicted.items():
        open_about(attempt_id, said)
    for attempt_id in report.agreed:
        _close(attempt_id)


@transaction.atomic(durable=True)
def open_about(attempt_id: str, said: str) -> None:
    """Open a case about an attempt, unless a person has seen this very difference."""
    _intent, attempt = attempts.locked(Attempt.objects.get(id=attempt_id))
    if not _is_acknowledged(attempt, said):
        cases.open_case(KIND, attempt, finding=said)


def _is_acknowledged(attempt: Attempt, said: str) -> bool:
    """Return whether a person has seen this very difference, and closed its case."""
    newest = Case.objects.filter(attempt=attempt, kind=KIND).order_by("-opened_at").first()
    if newest is None:
        return False
    return newest.decision == CaseDecision.ACKNOWLEDGED and newest.finding == said


@transaction.atomic(durable=True)
def _close(attempt_id: str) -> None:
    rows = Case.objects.filter(attempt_id=attempt_id, kind=KIND, status=CaseStatus.OPEN)
    for case in rows.select_for_update():
        cases.settle(case, "The audit finds no difference any more.")
