"""Cases opened, taken on, noted on, resolved and opened again.

The finders of cases call `open_case` in their own transaction. A decision about money is taken by
the room that knows the kinds of rows (`payments.deciding`), which calls `decide` at its end.
"""

from functools import partial
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from cases.models import Case, CaseChange, CaseNote
from cases.refusals import (
    CaseChanged,
    MayNotResolve,
    NotDecidable,
    NoteUnfit,
    OwnerUnfit,
    ReasonUnfit,
)
from cases.states import ABOUT_MONEY, CASES, Act, CaseDecision, CaseKind, CaseStatus
from core import clock, context, ids, money
from core.detection import contains_card_number
from events import transitions
from merchants import audit_log, notices
from merchants.models import User

RESOLVE = "cases.resolve_case"
REASON_MIN, REASON_MAX, NOTE_MAX = 10, 1000, 4000
CLOSED = _("We have looked into a payment of yours")


class KnownAttempt(Protocol):
    """The attempt that a case is about; amounts in minor units."""

    id: str
    merchant_id: str
    intent_id: str
    amount: int
    surcharge: int
    currency: str


# --- Found by the service ---------------------------------------------------------------------


def open_case(
    kind: CaseKind,
    attempt: KnownAttempt,
    *,
    operation_id: str | None = None,
    finding: str | None = None,
) -> Case | None:
    """Open a case in the caller's transaction, who has locked payment and attempt.

    :returns: None if one of this kind is open already.
    """
    case = Case(
        id=ids.new("case"),
        merchant_id=attempt.merchant_id,
        intent_id=attempt.intent_id,
        attempt_id=attempt.id,
        kind=kind,
        operation_id=operation_id,
        amount=attempt.amount + attempt.surcharge,
        currency=attempt.currency,
        finding=finding,
        opened_at=clock.now(),
    )
    # ON CONFLICT DO NOTHING: another finder may have opened it since anybody looked.
    Case.objects.bulk_create([case], ignore_conflicts=True)
    if not Case.objects.filter(id=case.id).exists():
        return None
    _keep(case, Act.OPENED, told=finding)
    return case


def settle(case: Case, told: str) -> None:
    """Close a locked case that the bank's answer settles; in the caller's transaction."""
    _resolve(case)
    case.save()
    _keep(case, Act.SETTLED, told=told)


def reopen(case: Case, kind: CaseKind, finding: str) -> None:
    """Open a locked, resolved case again: the bank says otherwise than the person who decided.

    If a case of that kind is open about the attempt already, that one asks the question.
    """
    asked = Case.objects.filter(attempt_id=case.attempt_id, kind=kind, status=CaseStatus.OPEN)
    if asked.exists():
        _keep(case, Act.REOPENED, told=f"{finding} Case {asked.get().id} is open about it.")
        return
    transitions.change(case, CaseStatus.OPEN, table=CASES)
    case.kind, case.finding, case.resolved_at = kind, finding, None
    case.version += 1
    case.save()
    _keep(case, Act.REOPENED, told=finding)


def confirm(case: Case, told: str) -> None:
    """Note that the bank says the same as the person who decided; in the caller's transaction."""
    _keep(case, Act.CONFIRMED, told=told)


def lock_decided(attempt: KnownAttempt, *, operation_id: str | None = None) -> Case | None:
    """Return the newest case in which a person has decided about the attempt's money, locked.

    The caller has locked payment and attempt.

    :param operation_id: of the capture, release or refund; None for the authorisation.
    """
    rows = Case.objects.filter(attempt_id=attempt.id, decision__in=ABOUT_MONEY)
    rows = rows.filter(operation_id=operation_id)
    found: Case | None = rows.select_for_update().order_by("-decided_at").first()
    return found


# --- Done by an operator ----------------------------------------------------------------------


def require_may_resolve(operator: User) -> None:
    """:raises MayNotResolve: the operator's permissions do not allow it."""
    if not operator.has_perm(RESOLVE):
        raise MayNotResolve


def fit_reason(reason: str) -> str:
    """Return a person's reason without blanks around it.

    :raises ReasonUnfit: it has not 10 to 1000 characters, or a card number in it.
    """
    text = reason.strip()
    if not REASON_MIN <= len(text) <= REASON_MAX or contains_card_number(text) or "\x00" in text:
        raise ReasonUnfit
    return text


def require_as_seen(case: Case, version: int) -> None:
    """:raises CaseChanged: it was decided, settled or reopened since the operator saw it."""
    if case.version != version or not case.is_open:
        raise changed(case)


def changed(case: Case) -> CaseChanged:
    """Return the refusal that names the case's change since the operator saw it."""
    return CaseChanged(case)


def locked(case_id: str) -> Case:
    """Return a case locked, with its merchant.

    Not with its people: whoever waits for the lock would get those of before.

    :raises ResourceMissing: there is no such case.
    """
    case: Case = Case.objects.select_related("merchant").lock(case_id)
    return case


def decide(case: Case, operator: User, decision: CaseDecision, reason: str) -> None:
    """Resolve a locked case by a person's decision; the last thing in the caller's transaction.

    :param reason: as `fit_reason` returned it.
    """
    before = {"status": case.status}
    _resolve(case)
    case.decision, case.reason = decision, reason
    case.decided_by, case.decided_at = operator, clock.now()
    case.save()
    _keep(case, Act.DECIDED, by=operator, told=f"{decision.label}. {reason}")
    after = {"status": case.status, "kind": case.kind, "decision": decision.value,
             "payment": case.intent_id, "by": operator.pk}  # fmt: skip
    audit_log.record(
        "case.decided", merchant=case.merchant, subject=case.id,
        before=before, after=after, reason=reason,
    )  # fmt: skip


@transaction.atomic(durable=True)
def acknowledge(operator: User, case_id: str, *, reason: str, seen: int) -> Case:
    """Resolve a case that needs no decision about money: a person has seen to it.

    :param seen: the case's version that the operator saw.
    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises ReasonUnfit: the reason is too short or too long.
    :raises CaseChanged: it was decided, settled or reopened meanwhile.
    :raises NotDecidable: the case awaits a decision about money.
    """
    require_may_resolve(operator)
    text = fit_reason(reason)
    case = locked(case_id)
    require_as_seen(case, seen)
    if case.awaits_decision:
        raise NotDecidable
    decide(case, operator, CaseDecision.ACKNOWLEDGED, text)
    return case


@transaction.atomic(durable=True)
def assign(operator: User, case_id: str, owner: User | None) -> Case:
    """Assign a case to an operator, or to none; nothing happens if it is theirs already.

    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises OwnerUnfit: the new owner may not decide cases.
    :raises CaseChanged: it is resolved.
    :raises ResourceMissing: there is no such case.
    """
    require_may_resolve(operator)
    if owner is not None and not (owner.is_staff and owner.has_perm(RESOLVE)):
        raise OwnerUnfit
    case = locked(case_id)
    if not case.is_open:
        raise changed(case)
    hand_over(case, operator, owner)
    return case


def hand_over(case: Case, operator: User, owner: User | None) -> None:
    """Give a locked case to an operator, or to none; the last thing in the caller's transaction.

    Nothing happens if it is theirs already.
    """
    before = case.owner
    if before == owner:
        return
    case.owner = owner
    case.save(update_fields=["owner"])
    _keep(case, Act.ASSIGNED, by=operator, told=str(owner) if owner else "nobody")
    audit_log.record(
        "case.assigned", merchant=case.merchant, subject=case.id,
        before={"owner": before.pk if before else None},
        after={"owner": owner.pk if owner else None, "by": operator.pk},
    )  # fmt: skip


@transaction.atomic(durable=True)
def note(operator: User, case_id: str, text: str) -> CaseNote:
    """Add an operator's note to a case.

    :raises MayNotResolve: the operator's permissions do not allow it.
    :raises NoteUnfit: nothing, too much, or a card number was written.
    :raises ResourceMissing: there is no such case.
    """
    require_may_resolve(operator)
    words = text.strip()
    if not 1 <= len(words) <= NOTE_MAX or contains_card_number(words) or "\x00" in words:
        raise NoteUnfit
    case = locked(case_id)
    kept: CaseNote = CaseNote.objects.create(
        merchant_id=case.merchant_id, case=case, author=operator, text=words, created_at=clock.now()
    )
    after = {"note": words, "by": operator.pk}
    audit_log.record("case.noted", merchant=case.merchant, subject=case.id, after=after)
    return kept


# --- Read by others ---------------------------------------------------------------------------

DECIDED_BY_PERSON = Q(decision__in=ABOUT_MONEY)


def _resolve(case: Case) -> None:
    transitions.change(case, CaseStatus.RESOLVED, table=CASES)
    case.resolved_at = clock.now()
    case.version += 1
    transaction.on_commit(partial(_tell_merchant, case), robust=True)


def _tell_merchant(case: Case) -> None:
    """Mail the merchant's subscribers that the case is closed."""
    page = reverse("panel:payment", args=[case.merchant_id, case.intent_id])
    facts = {
        "case": case,
        # Asked by the template, in the reader's language.
        "amount": lambda: money.written(case.amount, case.currency),
        "page": f"{settings.PANEL_URL}{page}",
    }
    to = notices.readers(case.merchant, notices.MailKind.CASE_CLOSED)
    notices.send(notices.Letter(CLOSED, "panel/mails/case_closed.txt", facts), to)


def _keep(case: Case, act: Act, *, by: User | None = None, told: str | None = None) -> None:
    CaseChange.objects.create(
        merchant_id=case.merchant_id, case=case, act=act, by=by, told=told,
        request_id=context.request_id(), created_at=clock.now(),
    )  # fmt: skip
