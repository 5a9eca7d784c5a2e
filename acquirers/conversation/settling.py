"""The one conversation with a bank: ask, apply the answer, go on with what follows from it.

The request, its retry, the payer's return, the sweeper and an operator's decision end here. A kind
says what differs (`acquirers.conversation.kinds`); the order of things is the same for all.
"""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import structlog
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from acquirers import exchanges, refused_requests, slots
from acquirers.conversation import answers, leases, resuming
from acquirers.conversation.kinds import Effect, Facts, Kind, Said
from acquirers.conversation.models import InDoubt
from acquirers.outcomes import Outcome
from api import idempotency
from core import context
from core.errors import InternalError

Row = TypeVar("Row", bound=InDoubt)
T = TypeVar("T")
Ask = Callable[[Any], Outcome]
Then = Callable[[Row], Row]
log = structlog.get_logger(__name__)


class Settled(NamedTuple, Generic[Row]):
    """A row as its answer left it.

    :param next: the row that the asker goes on with, its lease held; None if there is none.
    """

    row: Row
    next: Row | None = None


def pursue(
    kind: Kind[Row], leased: Row, *, ask: Ask | None = None, then: Then[Row] | None = None
) -> Row:
    """Ask the bank, apply its answer, and go on with what follows; the caller holds the lease.

    :param ask: in place of the kind's own: a first sending, or one that has the security code.
    :param then: goes on with the row that follows, in place of `go_on`.
    :raises InternalError: the answer cannot be stored, and no time is left for a second try.
    """
    context.mark_irrevocable()
    with leases.given_back(leased):
        outcome = (ask or kind.ask)(leased)
        ended = apply_with_retry(leased, lambda: settle(kind, leased, outcome, goes_on=True))
    if ended.next is None:
        return ended.row
    return then(ended.next) if then else go_on(kind, ended.next, ask=ask)


def go_on(kind: Kind[Row], leased: Row, *, ask: Ask | None = None) -> Row:
    """Write down what has to be before the bank is asked, and pursue the row, if it is to be asked.

    The caller holds the lease.

    :returns: the row as it is then.
    """
    with leases.given_back(leased):
        ready = kind.begun(leased)
    if ready is not None:
        return pursue(kind, ready, ask=ask)
    leased.refresh_from_db()  # Another process may have ended it.
    return leased


def resume(
    kind: Kind[Row], merchant_id: str, open_rows: QuerySet[Any], *, ask: Ask | None = None
) -> Row | None:
    """Finish what a request with the same Idempotency-Key has left open (contract 6).

    :param open_rows: finds the row while it is open: none or one.
    :returns: the row; None if nothing is open.
    :raises IdempotencyKeyInUse: another process is asking the bank this moment.
    :raises AcquirerBusy: no slot came free; nothing has changed, and a later retry can succeed.
    """
    if not open_rows.exists():
        return None
    with slots.for_merchant(merchant_id):
        leased = resuming.leased(open_rows)
        return go_on(kind, leased, ask=ask) if leased else None


def apply_with_retry(row: InDoubt, closing: Callable[[], T]) -> T:
    """Run the closing transaction; retry once if the database fails: money may have moved already.

    :param closing: applies the bank's answer in a transaction of its own; safe to call twice.
    :raises InternalError: no time is left for a second try.
    """
    try:
        return closing()
    except DatabaseError:
        log.warning("bank_answer_applied_again", row=str(row))
        idempotency.take_answer_back()
    if context.remaining_seconds() <= 0:
        raise InternalError
    return closing()


@transaction.atomic(durable=True)
def settle(kind: Kind[Row], asked: Row, outcome: Outcome, *, goes_on: bool = False) -> Settled[Row]:
    """Apply the bank's answer in a transaction of its own; safe to call twice with the same answer.

    The parameters are those of `settled`.
    """
    return settled(kind, asked, outcome, goes_on=goes_on)


def settled(
    kind: Kind[Row],
    asked: Row,
    outcome: Outcome,
    *,
    goes_on: bool = False,
    cause: str | None = None,
) -> Settled[Row]:
    """Apply the bank's answer, in the caller's transaction: the one order of things.

    :param asked: the row as the asker read it before it asked, with its lease.
    :param goes_on: the asker does what follows; otherwise the sweeper will.
    :param cause: the request that the event names; None for the one that began the row.
    """
    facts = kind.facts(asked, outcome)  # Payment, attempt and row are locked in this order.
    row, known = facts.row, facts.known
    if facts.spoken:
        exchanges.record_all(facts.spoken, outcome)  # Of the row as it was asked about.
    if outcome.judged or outcome.after:
        refused_requests.count(outcome)
    if not facts.is_open:
        if not facts.is_followed:
            idempotency.finish()
        kind.hear_late(asked, row, known)
        return Settled(row)  # Another process has applied an answer already.
    if not answers.counts(outcome, asked=asked, locked=row):
        return Settled(row)  # The new holder of the lease may have sent what this asker did not.
    before = kind.door.render(facts.subject) if kind.door else {}
    leases.end_with(row)
    effect = kind.consequences(row, Said(asked, known, before, goes_on))
    # A yes learnt by inquiry after a silence may be looked at once more here, after the bank's day.
    return Settled(row, _write(kind, facts, effect, before=before, cause=cause))


def _write(
    kind: Kind[Row], facts: Facts[Row], effect: Effect, *, before: dict[str, Any], cause: str | None
) -> Row | None:
    """Write the row, the recovery points of the requests that end with it, and the event.

    :returns: the row that the asker goes on with.
    """
    row, status = facts.row, effect.status
    if status is None or facts.subject is not row:
        kind.save(row)  # Otherwise the door writes it.
    following: Row | None = effect.follow() if effect.follow else None
    is_answer = kind.stores_answer and status is not None
    if following is None and row.closed_at is not None:
        idempotency.finish_for(row.merchant_id, row.request_id)
    if following is None and not is_answer:
        idempotency.finish()
    if status is not None and kind.door:
        cause = cause or row.request_id or context.request_id()
        answer = idempotency.answer if is_answer else None
        kind.door.move(facts.subject, status, before, request_id=cause, answer=answer)
    return following
