"""Payouts written down and changed: the money leaves `available` at creation."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from acquirers import rails, references
from acquirers.conversation.models import begun
from api import idempotency
from core import clock, context, ids, local_days
from core.metadata import merge
from events import outbox
from ledger import accounts, balance, book, calendar, parts
from merchants import audit_log
from merchants.accounts import require_payouts
from merchants.models import Merchant
from payouts import destinations, render
from payouts.destinations import Destination
from payouts.models import Payout
from payouts.refusals import BalanceInsufficient
from payouts.states import CREATED


@dataclass(frozen=True, slots=True)
class Wanted:
    """A payout that is to be made; the amount in minor units.

    :param destination: the reference of the account; None for the merchant's default one.
    :param scheduled_on: the day of the merchant's schedule that makes it; None if it was asked for.
    """

    amount: int
    currency: str
    destination: str | None = None
    scheduled_on: date | None = None
    description: str | None = None
    statement_descriptor: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def of_amount(self, amount: int) -> "Wanted":
        """Return the same payout of another amount, in minor units."""
        return replace(self, amount=amount)


def create(
    merchant: Merchant, draft: dict[str, Any], agree: Callable[[Payout], object] | None = None
) -> Payout:
    """Take an amount from `available`, to be sent to an account of the merchant's.

    :param draft: a body that `CreatePayoutForm` has validated; the amount in minor units.
    :param agree: looks at the payout as it is written, with the merchant's money locked, before the
        commit; if it raises, nothing was written.
    :raises MerchantRestricted: the account may have no payouts at the moment.
    :raises UpstreamUnavailable: the installation has no bank that pays out.
    :raises ResourceMissing: the merchant has no account of that reference.
    :raises ParameterMissing: no account is given, and none is registered.
    :raises BalanceInsufficient: less is available.
    """
    require_payouts(merchant)
    rails.rail()
    accounts.ensure(merchant.id, draft["currency"])
    wanted = Wanted(
        amount=draft["amount"],
        currency=draft["currency"],
        destination=draft.get("destination"),
        description=draft.get("description"),
        statement_descriptor=draft.get("statement_descriptor"),
        metadata=merge({}, draft.get("metadata")),
    )
    with transaction.atomic(durable=True):
        payout_id = ids.new("po")
        idempotency.take(payout_id)
        payout = open_payout(payout_id, merchant, wanted)
        after = {
            "amount": payout.amount,
            "currency": payout.currency,
            "destination": payout.destination,
        }
        audit_log.record_by_person(
            "payout.created", merchant=merchant, subject=payout.id, after=after
        )
        if agree:
            agree(payout)
        return payout


def open_payout(
    payout_id: str,
    merchant: Merchant,
    wanted: Wanted,
    require: Callable[[Merchant], None] = require_payouts,
) -> Payout:
    """Write a payout down with its money and its event, in the caller's transaction.

    The merchant's money of the currency stays locked, also if the payout is refused.

    :param require: refuses accounts that may have none.

    :raises MerchantRestricted: the account may have no payouts at the moment.
    :raises ResourceMissing: the merchant has no account of that reference.
    :raises ParameterMissing: no account is given, and none is registered.
    :raises BalanceInsufficient: less is available.
    """
    accounts.lock(merchant.id, wanted.currency)
    # As they are now: an operator may have restricted the merchant, or taken the account away.
    merchant = Merchant.objects.get(id=merchant.id)
    require(merchant)
    destination = destinations.of(merchant, wanted.destination)
    payout = _drafted(payout_id, merchant, wanted, destination)
    try:
        book.payout(
            merchant.id,
            amount=payout.amount,
            currency=payout.currency,
            cause_id=payout.id,
            now=payout.created_at,
        )
    except book.InsufficientFunds:
        advice = _what_there_is(merchant.id, payout.currency)
        raise BalanceInsufficient(advice=advice) from None
    payout.save(force_insert=True)
    outbox.record(merchant, CREATED, render.payout(payout))
    return payout


def _what_there_is(merchant_id: str, currency: str) -> str:
    """Return sentences about the money that there is, and the day on which more of it comes."""
    funds = balance.funds(merchant_id, currency)
    now = f"available is {funds.available} {currency}, and {funds.pending} {currency} are pending."
    last = parts.last_run(merchant_id, currency)
    days = parts.by_date(merchant_id, [currency], {currency: last} if last else {})
    coming = next(
        ((day, amount) for day, amount in days.get(currency, {}).items() if amount > 0), None
    )
    return f"{now} {coming[1]} of them become available on {coming[0]}." if coming else now


def _drafted(
    payout_id: str, merchant: Merchant, wanted: Wanted, destination: Destination
) -> Payout:
    now = clock.now()
    today = local_days.of(now, merchant.timezone)
    arrival = calendar.of(merchant.country).business_day(today)
    waits = timedelta(seconds=settings.PAYOUT_DELAY_SECONDS)
    return Payout(
        id=payout_id,
        merchant=merchant,
        acquirer_reference=references.new(),
        amount=wanted.amount,
        currency=wanted.currency,
        arrival_at=local_days.begins(arrival, merchant.timezone),
        automatic=wanted.scheduled_on is not None,
        scheduled_on=wanted.scheduled_on,
        destination=destination.reference,
        holder_name=destination.holder_name,
        iban=destination.iban,
        description=wanted.description,
        statement_descriptor=wanted.statement_descriptor,
        metadata=wanted.metadata,
        request_id=context.request_id(),
        created_at=now,
        # It first becomes due when it may be sent.
        **{**begun(now, lease_until=None), "due_at": now + waits},
    )


@transaction.atomic(durable=True)
def update(merchant: Merchant, payout_id: str, changes: dict[str, Any]) -> Payout:
    """Change the given fields and leave the rest; null clears. It emits no event.

    :param changes: a body that `UpdatePayoutForm` has validated.
    :raises ResourceMissing: the merchant has no such payout.
    """
    idempotency.take(payout_id)
    payout = Payout.objects.for_merchant(merchant).lock(payout_id)
    if "description" in changes:
        payout.description = changes["description"]
    if "metadata" in changes:
        payout.metadata = merge(payout.metadata, changes["metadata"])
    payout.save(update_fields=["description", "metadata"])
    return payout
