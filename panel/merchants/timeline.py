"""The timeline of a payment: everything that happened to it, the newest first."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Count, Q
from django.utils.translation import gettext, ngettext

from acquirers.conversation.schedule import INQUIRY_WAITS
from core import money
from events.models import Event
from merchants.models import Member, RequestLog
from panel import permissions
from panel.merchants import checkout_words, links
from panel.merchants.dispute_words import REASONS
from panel.merchants.event_words import SENTENCES
from panel.merchants.payment_parts import PaymentParts
from panel.merchants.payment_words import (
    CANCELLATIONS,
    FAILED_REFUNDS,
    MODIFICATIONS,
    REFUND_REASONS,
    RESULTS,
    RULES,
    reason_of,
)
from panel.permissions import Right
from payments.intents.models import Attempt, Modification
from payments.intents.states import ModificationKind, PaymentStatus
from payments.refunds.models import Refund
from webhooks.models import Delivery

EVENTS_MOST, REQUESTS_MOST = 200, 50
BODIES = ("request_body", "response_body")


class TimelineEntry(NamedTuple):
    """One thing that happened.

    :param title: a sentence; `details` are more of them.
    :param status: the API's, for a badge; nothing for what has none.
    :param url: of the thing's page, for those who may open it.
    :param object_id: of the thing, to be copied.
    :param answer: the HTTP status of a request's answer.
    :param is_technical: only developers need it.
    """

    at: datetime
    title: Any
    details: tuple[Any, ...] = ()
    status: str = ""
    url: str = ""
    object_id: str = ""
    answer: int | None = None
    is_technical: bool = False


def of(member: Member, parts: PaymentParts) -> list[TimelineEntry]:
    """Return all that happened to a payment and that the member's role may see, newest first."""
    told = [
        TimelineEntry(parts.payment.created_at, gettext("The payment was created.")),
        *(entry for row in parts.attempts for entry in _attempt(row)),
        *(_modification(row, parts) for row in parts.modifications),
        *(_refund(row, parts) for row in parts.refunds),
        *_disputes(member, parts),
        *_cases(parts),
        *_notes(parts),
        *_judged(parts),
        *_sessions(member, parts),
        *_canceled(parts),
        *_technical(member, parts),
    ]
    # Of the same instant, the later in this list came later.
    numbered = sorted(enumerate(told), key=lambda one: (one[1].at, one[0]), reverse=True)
    return [entry for _number, entry in numbered]


def _attempt(row: Attempt) -> Iterator[TimelineEntry]:
    names = {"amount": money.written(row.amount + row.surcharge, row.currency)}
    masked = "•••• {}".format(row.card["last4"])
    title = gettext("The card %(card)s was tried for %(amount)s.") % {**names, "card": masked}
    reason = reason_of(row.error, row.bank_text)
    details = (reason.text, " · ".join(reason.codes)) if reason else ()
    yield TimelineEntry(row.created_at, title, details, row.status, object_id=row.id)
    if row.authentication_demanded:
        yield TimelineEntry(
            row.created_at, gettext("The payer has to confirm at their bank (3-D Secure).")
        )
    if row.authenticated_at:
        result = RESULTS.get(row.authentication.get("result") or "", "")
        known = (row.authentication.get("version"), row.authentication.get("eci"))
        version, eci = known
        facts = [f"3-D Secure {version}" if version else "", f"ECI {eci}" if eci else ""]
        told = tuple(one for one in (result, " · ".join(filter(None, facts))) if one)
        yield TimelineEntry(
            row.authenticated_at, gettext("The payer came back from their bank."), told
        )
    if row.inquiry_count:
        words: Any = ngettext("%(number)s time", "%(number)s times", row.inquiry_count)
        told = (words % {"number": row.inquiry_count},)
        yield TimelineEntry(_asked_last(row), gettext("We asked the bank again."), told)
    if row.reversed_at:
        yield TimelineEntry(row.reversed_at, MODIFICATIONS[ModificationKind.REVERSE.value])


def _asked_last(row: Attempt) -> datetime:
    """Return when the bank was asked last, as far as the row says it."""
    if row.closed_at or not row.due_at:
        return row.closed_at or row.created_at
    wait = INQUIRY_WAITS[min(row.inquiry_count, len(INQUIRY_WAITS) - 1)]
    return max(row.created_at, row.due_at - wait)


def _modification(row: Modification, parts: PaymentParts) -> TimelineEntry:
    title = MODIFICATIONS.get(row.kind, row.kind)
    details = [money.written(row.amount, parts.payment.currency)] if row.amount else []
    details += [CANCELLATIONS.get(row.reason, row.reason)] if row.reason else []
    return TimelineEntry(row.created_at, title, (*details, *_by(parts, row.request_id)), row.status)


def _by(parts: PaymentParts, request_id: str) -> Iterator[str]:
    """Tell who did it, if a person did it in the panel."""
    for act in parts.acts:
        if act.request_id == request_id and act.actor_name:
            yield gettext("By %(person)s.") % {"person": act.actor_name}


def _by_action(parts: PaymentParts, subject: str, action: str) -> Iterator[str]:
    for act in parts.acts:
        if (act.subject, act.action) == (subject, action) and act.actor_name:
            yield gettext("By %(person)s.") % {"person": act.actor_name}


def _refund(row: Refund, parts: PaymentParts) -> TimelineEntry:
    amount = money.written(row.amount, row.currency)
    is_void = row.method == "void"
    words = gettext("Void of %(amount)s") if is_void else gettext("Refund of %(amount)s")
    details: list[Any] = [
        gettext("Refunded by %(person)s in the panel.") % {"person": act.actor_name}
        for act in parts.acts
        if (act.subject, act.action) == (row.id, "refund.created") and act.actor_name
    ]
    details += [REFUND_REASONS.get(row.reason, row.reason)] if row.reason else []
    if row.failure_reason:
        details.append(FAILED_REFUNDS.get(row.failure_reason, row.failure_reason))
    if row.is_waiting:
        details.append(gettext("It waits until your balance covers it."))
    if row.waits_for_the_day:
        details.append(gettext("It is sent again after the end of the bank's day."))
    if row.reference:
        details.append(gettext("The cardholder's bank finds it by %(number)s.")
                       % {"number": row.reference})  # fmt: skip
    return TimelineEntry(
        row.created_at,
        words % {"amount": amount},
        tuple(details),
        row.status,
        object_id=row.id,
    )


def _disputes(member: Member, parts: PaymentParts) -> Iterator[TimelineEntry]:
    for row in parts.disputes:
        amount, url = money.written(row.amount, row.currency), links.to(member, row.id)
        is_inquiry = row.status.startswith("warning_")
        words = gettext("The cardholder's bank asks about %(amount)s.")
        if not is_inquiry:
            words = gettext("The cardholder disputes %(amount)s.")
        told = (REASONS.get(row.reason, row.reason),)
        yield TimelineEntry(
            row.created_at, words % {"amount": amount}, told, row.status, url, row.id
        )
        if row.closed_at:
            title = gettext("The dispute ended.")
            yield TimelineEntry(row.closed_at, title, (), row.status, url)


def _cases(parts: PaymentParts) -> Iterator[TimelineEntry]:
    for case in parts.cases:
        yield TimelineEntry(case.opened_at, gettext("Our people are looking into it."))
        if case.resolved_at:
            yield TimelineEntry(case.resolved_at, gettext("Our people have looked into it."))


def _notes(parts: PaymentParts) -> Iterator[TimelineEntry]:
    for act in parts.acts:
        if act.action == "payment.noted":
            after = act.after or {}
            at = datetime.fromtimestamp(after["at"], UTC) if after.get("at") else act.created_at
            by = gettext("Note by %(person)s") % {"person": act.actor_name or "–"}
            yield TimelineEntry(at, by, (after.get("note", ""),))


def _judged(parts: PaymentParts) -> Iterator[TimelineEntry]:
    """Tell of a verdict that came from outside, or that saw more than an ordinary risk."""
    fraud = parts.payment.fraud
    if fraud and (fraud.get("rule") or fraud.get("status") in ("review", "fraud")):
        at = datetime.fromtimestamp(fraud["updated"], UTC)
        told = RULES.get(fraud.get("rule") or "", "")
        yield TimelineEntry(at, gettext("The risk was judged."), (told,) if told else ())


def _sessions(member: Member, parts: PaymentParts) -> Iterator[TimelineEntry]:
    for row in parts.sessions:
        url = links.to(member, row.id)
        made = tuple(_by_action(parts, row.id, "checkout.created"))
        title = gettext("A payment page was made.")
        yield TimelineEntry(row.created_at, title, made, url=url, object_id=row.id)
        if row.expiration_reason and row.ended_at:
            by = _by_action(parts, row.id, "checkout.expired")
            told = (checkout_words.standing(row), *by)
            title = gettext("The payment page ended.")
            yield TimelineEntry(row.ended_at, title, told, url=url)


def _canceled(parts: PaymentParts) -> Iterator[TimelineEntry]:
    payment = parts.payment
    if payment.status == PaymentStatus.CANCELED and payment.canceled_at:
        reason = payment.cancellation_reason
        details = (CANCELLATIONS.get(reason, reason),) if reason else ()
        by = [one for act in parts.acts if act.action == "payment.canceled"
              for one in _by(parts, act.request_id)]  # fmt: skip
        yield TimelineEntry(
            payment.canceled_at, gettext("The payment was canceled."), (*details, *by[:1])
        )


def _technical(member: Member, parts: PaymentParts) -> Iterator[TimelineEntry]:
    """Tell of requests and events, for those who may open them."""
    if not permissions.may(member, Right.SEE_LOGS):
        return
    belonging = [*(row.id for row in parts.refunds), *(row.id for row in parts.disputes)]
    ids = [parts.payment.id, *belonging, *(row.id for row in parts.sessions)]
    events = _newest_events(member, ids)
    received = _received(member, events)
    for event in events:
        yield TimelineEntry(
            event.created_at,
            SENTENCES.get(event.type, event.type),
            (event.type, *received.get(event.id, ())),
            url=links.to(member, event.id),
            object_id=event.id,
            is_technical=True,
        )
    rows = RequestLog.objects.for_merchant(member.merchant).filter(object_id__in=ids)
    for row in rows.defer(*BODIES).order_by("-created_at", "-id")[:REQUESTS_MOST]:
        yield TimelineEntry(
            row.created_at,
            f"{row.method or ''} {row.path}".strip(),
            (row.error_code,) if row.error_code else (),
            url=links.to(member, row.id),
            object_id=row.id,
            answer=row.status,
            is_technical=True,
        )


def _newest_events(member: Member, ids: Sequence[str]) -> list[Event]:
    rows = Event.objects.for_merchant(member.merchant).filter(aggregate_id__in=ids)
    return list(rows.defer("body").order_by("-created_at", "-sequence")[:EVENTS_MOST])


def _received(member: Member, events: Sequence[Event]) -> dict[str, tuple[str, ...]]:
    """Return by an event's id how many of the endpoints that it was sent to have it."""
    if not events:
        return {}
    rows = Delivery.objects.for_merchant(member.merchant).filter(event__in=events)
    counted = (
        rows.order_by()
        .values_list("event_id")
        .annotate(
            have=Count("endpoint", distinct=True, filter=Q(status=Delivery.Status.SUCCEEDED)),
            every=Count("endpoint", distinct=True),
        )
    )
    return {event_id: (_have(number, every),) for event_id, number, every in counted}


def _have(number: int, every: int) -> str:
    if every == 1:
        return gettext("The endpoint has it.") if number else gettext("The endpoint lacks it.")
    words: Any = ngettext(
        "%(number)s of %(every)s endpoints has it.",
        "%(number)s of %(every)s endpoints have it.",
        number,
    )
    return str(words % {"number": number, "every": every})
