"""Pieces of operators' work: taken on and given back, by one person at a time.

A case keeps its owner itself; all other kinds share the table `TakenWork`.
"""

from typing import NamedTuple

from django.db import transaction

from cases import cases
from cases.models import TakenWork
from cases.refusals import MayNotTakeOn, TakenMeanwhile
from core import clock, ids
from merchants import audit_log
from merchants.models import Merchant, User

CASE = "case"


class Piece(NamedTuple):
    """A piece of work.

    :param kind: a name in `panel.operators.work_kinds`.
    :param subject: its own name in its kind; of a case the id.
    :param permission: of those who may take it on.
    """

    kind: str
    subject: str
    permission: str
    merchant: Merchant | None = None


@transaction.atomic(durable=True)
def take(operator: User, piece: Piece, *, seen: str = "") -> None:
    """Give a piece of work to the operator; nothing happens if they have it.

    :param seen: the id of the person who had it as the operator saw it; empty for none.
    :raises MayNotTakeOn: the operator's permissions do not allow it.
    :raises TakenMeanwhile: another person has it than the operator saw.
    :raises CaseChanged: the case was resolved since the operator saw it.
    :raises ResourceMissing: there is no such case.
    """
    _require_right(operator, piece)
    if piece.kind == CASE:
        case = cases.locked(piece.subject)
        if not case.is_open:
            raise cases.changed(case)
        if _may_go_over(case.owner, operator, seen):
            cases.hand_over(case, operator, operator)
        return
    fresh = None if seen else _begun(operator, piece)
    row = _locked(piece)
    if row is None:
        raise TakenMeanwhile(None)
    if row.id == fresh:
        _record("work.taken", piece, None, operator)
    elif _may_go_over(row.by, operator, seen):
        before, row.by, row.taken_at = row.by, operator, clock.now()
        row.save(update_fields=["by", "taken_at"])
        _record("work.taken", piece, before, operator)


@transaction.atomic(durable=True)
def give_back(operator: User, piece: Piece) -> None:
    """Take a piece of work from the operator; nothing happens if no person has it.

    :raises MayNotTakeOn: the operator's permissions do not allow it.
    :raises TakenMeanwhile: another person has it.
    :raises ResourceMissing: there is no such case.
    """
    _require_right(operator, piece)
    if piece.kind == CASE:
        case = cases.locked(piece.subject)
        _require_own(case.owner, operator)
        cases.hand_over(case, operator, None)
        return
    row = _locked(piece)
    if row is None:
        return
    _require_own(row.by, operator)
    row.delete()
    _record("work.given_back", piece, operator, None)


def _begun(operator: User, piece: Piece) -> str:
    """Write that the operator has it, unless a person has it already; return the new row's id."""
    row = TakenWork(
        id=ids.new("work"), kind=piece.kind, subject=piece.subject, by=operator,
        taken_at=clock.now(),
    )  # fmt: skip
    # ON CONFLICT DO NOTHING: another person may have taken it on since anybody looked.
    TakenWork.objects.bulk_create([row], ignore_conflicts=True)
    return row.id


def _require_right(operator: User, piece: Piece) -> None:
    if not operator.has_perm(piece.permission):
        raise MayNotTakeOn


def _may_go_over(holder: User | None, operator: User, seen: str) -> bool:
    """Return whether it changes hands; not if the operator has it.

    :raises TakenMeanwhile: another person has it than the operator saw.
    """
    if holder == operator:
        return False
    if str(holder.pk if holder else "") != seen:
        raise TakenMeanwhile(holder)
    return True


def _require_own(holder: User | None, operator: User) -> None:
    if holder is not None and holder != operator:
        raise TakenMeanwhile(holder)


def _locked(piece: Piece) -> TakenWork | None:
    # Without the person: whoever waits for the lock would get the one of before.
    rows = TakenWork.objects.filter(kind=piece.kind, subject=piece.subject)
    return rows.select_for_update().first()


def _record(action: str, piece: Piece, before: User | None, after: User | None) -> None:
    audit_log.record(
        action,
        merchant=piece.merchant,
        subject=f"{piece.kind}:{piece.subject}",
        before={"owner": before.pk if before else None},
        after={"owner": after.pk if after else None},
    )
