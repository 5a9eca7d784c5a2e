"""Topups written down and changed: nothing is booked before the transfer has come."""

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction

from acquirers import rails, references
from api import idempotency
from core import clock, context, ids, local_days
from core.errors import ParameterInvalid
from core.metadata import merge
from events import outbox
from ledger import accounts, calendar
from merchants import audit_log
from merchants.accounts import require_topups
from merchants.models import Merchant
from payouts.topups import render
from payouts.topups.models import Topup
from payouts.topups.states import UPDATED, Initiator

# The words of a sandbox for how the transfer goes on (contract-money, Topup).
FAILS, IS_REVERSED, NEVER_COMES = "test_fail", "test_reverse", "test_never"
OF_A_SANDBOX = (FAILS, IS_REVERSED, NEVER_COMES)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A topup that is to be made; the amount in minor units.

    :param source: a code of a sandbox; empty for a transfer that comes.
    :param is_told: the transfer is announced to the bank.
    """

    amount: int
    currency: str
    source: str = ""
    initiated_by: Initiator = Initiator.MERCHANT
    is_told: bool = True
    description: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def create(merchant: Merchant, draft: dict[str, Any]) -> Topup:
    """Write a topup down, with the reference to write into the transfer. It emits no event.

    :param draft: a body that `CreateTopupForm` has validated; the amount in minor units.
    :raises MerchantRestricted: the account is closed.
    :raises ParameterInvalid: a source is given that is no code of a sandbox.
    :raises UpstreamUnavailable: the installation has no bank that takes transfers.
    """
    require_topups(merchant)
    wanted = Wanted(
        amount=draft["amount"],
        currency=draft["currency"],
        source=_source(draft.get("source")),
        description=draft.get("description"),
        metadata=merge({}, draft.get("metadata")),
    )
    prepare(merchant, wanted.currency)
    with transaction.atomic(durable=True):
        topup_id = ids.new("tu")
        idempotency.take(topup_id)
        topup = open_topup(topup_id, merchant, wanted)
        after = {"amount": topup.amount, "currency": topup.currency}
        audit_log.record_by_person(
            "topup.created", merchant=merchant, subject=topup.id, after=after
        )
        return topup


def prepare(merchant: Merchant, currency: str) -> None:
    """Make sure that money of the currency can be taken in; before the caller's transaction.

    :raises UpstreamUnavailable: the installation has no bank that takes transfers.
    """
    rails.rail()
    accounts.ensure(merchant.id, currency)


def open_topup(topup_id: str, merchant: Merchant, wanted: Wanted) -> Topup:
    """Write a topup down, in the caller's transaction.

    :raises MerchantRestricted: the account is closed.
    """
    # As it is now: an operator may have closed it.
    merchant = Merchant.objects.get(id=merchant.id)
    require_topups(merchant)
    now = clock.now()
    today = local_days.of(now, merchant.timezone)
    expected = calendar.of(merchant.country).business_day(today)
    is_told = wanted.is_told and wanted.source != NEVER_COMES
    topup: Topup = Topup.objects.create(
        id=topup_id,
        merchant=merchant,
        reference=references.new(),
        amount=wanted.amount,
        currency=wanted.currency,
        initiated_by=wanted.initiated_by,
        source=wanted.source,
        expected_at=local_days.begins(expected, merchant.timezone),
        description=wanted.description,
        metadata=wanted.metadata,
        request_id=context.request_id(),
        tell_at=now if is_told else None,
        created_at=now,
    )
    return topup


def _source(given: str | None) -> str:
    if given is None:
        return ""
    if settings.LIVEMODE or given not in OF_A_SANDBOX:
        raise ParameterInvalid("There is no such source.", param="source")
    return given


@transaction.atomic(durable=True)
def update(merchant: Merchant, topup_id: str, changes: dict[str, Any]) -> Topup:
    """Change the given fields and leave the rest; null clears. A change has an event.

    :param changes: a body that `UpdateTopupForm` has validated.
    :raises ResourceMissing: the merchant has no such topup.
    """
    idempotency.take(topup_id)
    topup: Topup = Topup.objects.for_merchant(merchant).lock(topup_id)
    before = render.topup(topup)
    if "description" in changes:
        topup.description = changes["description"]
    if "metadata" in changes:
        topup.metadata = merge(topup.metadata, changes["metadata"])
    shown = render.topup(topup)
    if shown != before:
        topup.save(update_fields=["description", "metadata"])
        outbox.record(merchant, UPDATED, shown, before)
    return topup
