"""Topups by operators: made for a merchant, and transfers that match nothing decided about.

The operator and the reason are kept in the same transaction, on the transfer, in the audit log and
in Django's log of the admin. Locks: the transfer, then its topup.
"""

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.db import transaction

from api import request_logs
from core import clock, context, ids
from core.errors import ResourceMissing, SentBefore
from events import transitions
from merchants import audit_log
from merchants.audit_log import LoggedChange
from merchants.models import Merchant, User
from payouts.topups import cancellations, creation, matching, steps
from payouts.topups.creation import Wanted
from payouts.topups.models import IncomingTransfer, Topup
from payouts.topups.refusals import TopupUnfit, TransferDecided
from payouts.topups.states import ARRIVALS, Arrival, Initiator

# The names of this work in the request logs.
MADE, CANCELED = "operators.create_topup", "operators.cancel_topup"
ASSIGNED, SENT_BACK = "operators.assign_transfer", "operators.send_transfer_back"
TOPUP, PARAM = "tu_", "goes_to"


def create(
    operator: User, merchant_id: str, wanted: Wanted, *, topup_id: str, reason: str
) -> Topup:
    """Make a topup for a merchant, who is given its reference; the same act again changes nothing.

    :param topup_id: of the new topup; the same id is the same act.
    :param reason: the operator's.
    :return: the topup of the act, also if it was made before.
    :raises SentBefore: the act was done before, with other values.
    :raises ResourceMissing: there is no such merchant.
    :raises MerchantRestricted: the account is closed.
    :raises UpstreamUnavailable: the installation has no bank that takes transfers.
    """
    merchant = _merchant(merchant_id, param="merchant")
    creation.prepare(merchant, wanted.currency)
    with request_logs.job(MADE):
        return _create(operator, merchant, wanted, topup_id, reason)


def cancel(operator: User, topup: Topup, *, reason: str) -> Topup:
    """Call a pending topup off: a transfer that comes later is a case.

    :param reason: the operator's.
    :raises TopupUnexpectedState: its transfer has come, or it has ended.
    """
    with request_logs.job(CANCELED):
        return _cancel(operator, topup, reason)


def assign(operator: User, transfer: IncomingTransfer, *, goes_to: str, reason: str) -> Topup:
    """Let a transfer that matches nothing be a topup's, or a merchant's new topup.

    :param goes_to: the id of a pending topup of the same amount and currency, or of a merchant.
    :param reason: the operator's.
    :raises TransferDecided: it is decided already, or the bank has taken it back.
    :raises TopupUnfit: the topup does not wait for this transfer.
    :raises ResourceMissing: there is no such topup, and no such merchant.
    """
    if not goes_to.startswith(TOPUP):
        creation.prepare(_merchant(goes_to), transfer.currency)
    with request_logs.job(ASSIGNED):
        return _assign(operator, transfer, goes_to, reason)


def send_back(operator: User, transfer: IncomingTransfer, *, reason: str) -> IncomingTransfer:
    """Note that a transfer that matches nothing was sent back to its sender; nothing is booked.

    :param reason: the operator's: how, and when.
    :raises TransferDecided: it is decided already, or the bank has taken it back.
    """
    with request_logs.job(SENT_BACK):
        return _send_back(operator, transfer, reason)


@transaction.atomic(durable=True)
def _create(
    operator: User, merchant: Merchant, wanted: Wanted, topup_id: str, reason: str
) -> Topup:
    # The same act waits here until the other one has ended.
    Merchant.objects.select_for_update(no_key=True).get(id=merchant.id)
    if earlier := Topup.objects.filter(id=topup_id).first():
        return _as_wanted(earlier, merchant, wanted)
    topup = creation.open_topup(topup_id, merchant, wanted)
    LogEntry.objects.log_actions(operator.pk, [topup], ADDITION, reason, single_object=True)
    after = {"amount": topup.amount, "currency": topup.currency, "status": topup.status}
    _record(topup, "topup.created", after, reason)
    return topup


def _as_wanted(earlier: Topup, merchant: Merchant, wanted: Wanted) -> Topup:
    made = (earlier.merchant_id, earlier.amount, earlier.currency)
    if made != (merchant.id, wanted.amount, wanted.currency):
        raise SentBefore
    return earlier


@transaction.atomic(durable=True)
def _cancel(operator: User, seen: Topup, reason: str) -> Topup:
    topup = cancellations.call_off(steps.locked(seen.id))
    LogEntry.objects.log_actions(operator.pk, [topup], CHANGE, reason, single_object=True)
    _record(topup, "topup.canceled", {"status": topup.status}, reason)
    return topup


@transaction.atomic(durable=True)
def _assign(operator: User, seen: IncomingTransfer, goes_to: str, reason: str) -> Topup:
    transfer = _undecided(seen)
    topup = _topup_for(transfer, goes_to)
    transfer.merchant, transfer.topup = topup.merchant, topup
    _decide(operator, transfer, Arrival.ASSIGNED, reason)
    steps.succeed(topup)
    after = {"status": topup.status, "amount": topup.amount, "currency": topup.currency,
             "transfer": transfer.reference}  # fmt: skip
    _record(topup, "topup.assigned", after, reason)
    return topup


@transaction.atomic(durable=True)
def _send_back(operator: User, seen: IncomingTransfer, reason: str) -> IncomingTransfer:
    transfer = _undecided(seen)
    _decide(operator, transfer, Arrival.SENT_BACK, reason)
    after = {"status": transfer.status, "amount": transfer.amount, "currency": transfer.currency}
    audit_log.record(
        "topup.sent_back", merchant=None, subject=transfer.reference, after=after, reason=reason
    )
    return transfer


def _undecided(seen: IncomingTransfer) -> IncomingTransfer:
    transfer: IncomingTransfer = IncomingTransfer.objects.select_for_update().get(pk=seen.pk)
    if transfer.status != Arrival.UNMATCHED:
        raise TransferDecided(transfer)
    return transfer


def _topup_for(transfer: IncomingTransfer, goes_to: str) -> Topup:
    if not goes_to.startswith(TOPUP):
        wanted = Wanted(
            transfer.amount, transfer.currency, initiated_by=Initiator.OPERATOR, is_told=False
        )
        return creation.open_topup(ids.new("tu"), _merchant(goes_to), wanted)
    found = Topup.objects.filter(id=goes_to).first()
    if found is None:
        raise ResourceMissing(param=PARAM)
    topup = steps.locked(found.id)
    if not matching.is_for(topup, transfer.amount, transfer.currency):
        raise TopupUnfit
    return topup


def _decide(operator: User, transfer: IncomingTransfer, to: Arrival, reason: str) -> None:
    transitions.change(transfer, to, table=ARRIVALS)
    transfer.reason, transfer.decided_by, transfer.decided_at = reason, operator, clock.now()
    transfer.save()
    said = f"{to.label}. {reason}"
    LogEntry.objects.log_actions(operator.pk, [transfer], CHANGE, said, single_object=True)


def _record(topup: Topup, action: str, after: dict[str, object], reason: str) -> None:
    audit_log.record_all(topup.merchant, [LoggedChange(action, topup.id, after=after)], reason)
    context.note_change(topup.merchant_id, topup.id)


def _merchant(merchant_id: str, param: str = PARAM) -> Merchant:
    found = Merchant.objects.filter(id=merchant_id).first()
    if found is None:
        raise ResourceMissing(param=param)
    return found
