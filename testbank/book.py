"""Writing the bank's book: every outcome of the bank is first a row written here."""

from datetime import datetime

from django.db import OperationalError, transaction

from core import clock, ids, rows
from testbank import authentications, behaviours, chargebacks, frauds, repayments
from testbank.behaviours import Behaviour
from testbank.models import Authorization, Capture, Dispute, FraudReport, Refund, Reversal
from testbank.orders import NAME, AuthorizationOrder, Terms
from testbank.router import BANK
from testbank.states import CardholderChoice, State


def authorize(order: AuthorizationOrder) -> Authorization:
    """Authorise once per reference; a reference asked again gets what has become of the first.

    Requests that race with one reference meet at its unique index: the losers wait
    there for the winner's commit and then read its row.
    """
    try:
        return _authorized(order)
    except OperationalError:
        # The connection was gone, or what it had prepared. By its reference it happens once.
        return _authorized(order)


@transaction.atomic(using=BANK, durable=True)
def _authorized(order: AuthorizationOrder) -> Authorization:
    now = clock.now()  # Once: outside of a piece of work it is a question to the database.
    authorization = enter(order, _behaviour_for(order), now=now)
    if authorization is None:
        first = Authorization.objects.select_for_update().get(reference=order.reference)
        return _up_to_date(first)
    return authorization


def enter(terms: Terms, behaviour: Behaviour, *, now: datetime) -> Authorization | None:
    """Write a payment down, with its money if it was taken; None if its reference is there."""
    authorization = _entry(terms, behaviour, now)
    if not rows.insert_new(authorization):
        return None
    if authorization.captured_amount:
        take_money(authorization, now=now)
    return authorization


@transaction.atomic(using=BANK, durable=True)
def look_up(reference: str) -> Authorization | None:
    """Return what the book says of a reference, None if the bank never heard of it."""
    return locked(reference)


def locked(reference: str) -> Authorization | None:
    """Return a reference's row, locked and up to date, for the caller's own transaction.

    Before the caller sees it, all that the bank does by itself is done: a pending one is decided,
    its refunds and disputes too, and an uncaptured one lapses.
    """
    if not NAME.fullmatch(reference):
        return None  # No order was accepted with it, and the database may not take it as a text.
    row = Authorization.objects.select_for_update().filter(reference=reference).first()
    return _up_to_date(row) if row else None


def locked_refund(reference: str) -> Refund | None:
    """Return a refund of an authorisation that is locked and up to date with it."""
    found = Refund.objects.filter(reference=reference).select_related("authorization").first()
    authorization = locked(found.authorization.reference) if found else None
    return authorization.refunds.get(reference=reference) if authorization else None


def locked_dispute(reference: str) -> Dispute | None:
    """Return a dispute of an authorisation that is locked and up to date with it."""
    found = Dispute.objects.filter(reference=reference).select_related("authorization").first()
    authorization = locked(found.authorization.reference) if found else None
    return authorization.disputes.get(reference=reference) if authorization else None


@transaction.atomic(using=BANK, durable=True)
def _look_at(reference: str) -> None:
    locked(reference)


def catch_up() -> None:
    """Do all that the bank should have done by itself until now, order by order.

    Each in a transaction of its own: two orders in one could lock each other out.
    """
    now = clock.now()
    reversed_ = Authorization.objects.filter(reverses_at__lte=now).order_by("reverses_at", "pk")
    for reference in list(reversed_.values_list("reference", flat=True)):
        _look_at(reference)
    for promised in (Refund.objects, Dispute.objects, FraudReport.objects):
        due = promised.filter(due_at__lte=now).order_by("due_at", "pk")
        for reference in list(due.values_list("authorization__reference", flat=True)):
            _look_at(reference)


def _up_to_date(row: Authorization) -> Authorization:
    if decided := _decided_now(row):
        _decide(row, decided)
    if _is_lapsed_now(row):
        row.state = State.LAPSED
        row.save()
    now = clock.now()
    if row.reverses_at is not None and row.reverses_at <= now:
        reverse(row, at=row.reverses_at)
    repayments.decide_due(row, now)
    chargebacks.decide_due(row, now)
    frauds.report_due(row, now)
    return row


def lapse_overdue() -> None:
    """Let everything lapse that has waited too long, in the caller's own transaction."""
    too_old = clock.now() - behaviours.LAPSES_AFTER
    overdue = Authorization.objects.filter(
        state=State.AUTHORIZED, captured_amount=0, created_at__lte=too_old
    )
    # In one order, so that two readers who meet here wait and do not lock each other out.
    found = list(overdue.select_for_update().order_by("pk").values_list("pk", flat=True))
    Authorization.objects.filter(pk__in=found).update(state=State.LAPSED)


def behaviour_of(authorization: Authorization) -> Behaviour:
    """Return how the card behaves that was authorised."""
    return behaviours.BY_NAME[authorization.behaviour]


def take_money(authorization: Authorization, *, now: datetime) -> None:
    """Write down that the row's captured amount was taken, which its cardholder may dispute."""
    taken = authorization.captured_amount
    rows.insert(Capture(authorization=authorization, amount=taken, created_at=now))
    chargebacks.expect(authorization)
    frauds.expect(authorization)


def reverse(authorization: Authorization, *, at: datetime) -> None:
    """Take a locked payment back by the bank itself, of any day; not what has given money back."""
    is_whole = authorization.available_amount == authorization.captured_amount
    authorization.reverses_at = None
    if authorization.state == State.AUTHORIZED and is_whole:
        void(authorization, at=at)
    else:
        authorization.save()


def void(authorization: Authorization, *, at: datetime) -> None:
    """Release a locked payment whole, and give its captured money back."""
    # The captured amount stays to be read; the reversal's row says that it went back.
    authorization.state = State.VOIDED
    authorization.voided_at = at
    authorization.save()
    taken = authorization.captured_amount
    if taken:
        Reversal.objects.create(authorization=authorization, amount=taken, created_at=at)


def _behaviour_for(order: AuthorizationOrder) -> Behaviour:
    """Return what becomes of an order, by its card and what the cardholder proved."""
    behaviour = behaviours.of(order.card_number)
    if order.proof is None:
        return behaviour
    authentication = authentications.proven(order)
    if authentication is None:
        return behaviour.declined(behaviours.INVALID_TRANSACTION)
    if authentication.decision == CardholderChoice.SILENT:
        return behaviour.declined(behaviours.DO_NOT_HONOR, silent=True)
    return behaviour.authenticated()


def _decided_now(authorization: Authorization) -> State | None:
    """Return the state that a pending authorisation takes now, None while it stays pending."""
    decided = behaviour_of(authorization).decides
    if authorization.state != State.PENDING or decided is None:
        return None
    is_due = clock.now() >= authorization.created_at + behaviours.DECIDED_AFTER
    return decided if is_due else None


def _is_lapsed_now(authorization: Authorization) -> bool:
    if authorization.state != State.AUTHORIZED or authorization.captured_amount:
        return False
    return clock.now() >= authorization.created_at + behaviours.LAPSES_AFTER


def _decide(authorization: Authorization, state: State) -> None:
    authorization.state = state
    is_authorized = state == State.AUTHORIZED
    authorization.response_code = behaviours.APPROVED if is_authorized else behaviours.DO_NOT_HONOR
    authorization.authorization_code = _authorization_code(is_authorized)
    if is_authorized and authorization.capture:
        authorization.captured_amount = authorization.amount
    authorization.save()
    if authorization.captured_amount:
        take_money(authorization, now=clock.now())


def _authorization_code(is_authorized: bool) -> str:
    return ids.random_base62(6).upper() if is_authorized else ""


def _entry(terms: Terms, behaviour: Behaviour, now: datetime) -> Authorization:
    is_authorized = behaviour.state == State.AUTHORIZED
    return Authorization(
        reference=terms.reference,
        merchant=terms.merchant,
        amount=terms.amount,
        capture=terms.capture,
        captured_amount=terms.amount if is_authorized and terms.capture else 0,
        currency=terms.currency,
        installments=terms.installments,
        behaviour=behaviour.name,
        state=behaviour.state,
        response_code=behaviour.response_code,
        authorization_code=_authorization_code(is_authorized),
        network_reference=ids.new("net"),
        risk_level=behaviour.risk_level,
        risk_score=behaviour.risk_score,
        answered=not behaviour.silent,
        created_at=now,
    )
