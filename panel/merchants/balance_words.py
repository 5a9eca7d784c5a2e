"""Labels of the balance: schedules, types of balance transactions, statuses, refusals."""

from typing import Any, NamedTuple

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from core import money
from ledger.balance import Funds
from ledger.models import Movement
from merchants.models import PayoutSchedule
from panel.merchants.payment_words import REFUSALS as OF_PAYMENTS
from payouts.states import FailureCode, PayoutStatus
from payouts.topups.states import FailureCode as TopupFailure
from payouts.topups.states import TopupStatus

Interval, Weekday = PayoutSchedule.Interval, PayoutSchedule.Weekday
Type = Movement.Type
WEEKDAYS: dict[str, Any] = {
    Weekday.MONDAY.value: _("Each Monday"),
    Weekday.TUESDAY.value: _("Each Tuesday"),
    Weekday.WEDNESDAY.value: _("Each Wednesday"),
    Weekday.THURSDAY.value: _("Each Thursday"),
    Weekday.FRIDAY.value: _("Each Friday"),
    Weekday.SATURDAY.value: _("Each Saturday"),
    Weekday.SUNDAY.value: _("Each Sunday"),
}
# By the type of a balance transaction.
TYPES: dict[str, Any] = {
    Type.CHARGE.value: _("Charge"),
    Type.REFUND.value: _("Refund"),
    Type.REFUND_FAILURE.value: _("Refund that came back"),
    Type.DISPUTE.value: _("Dispute"),
    Type.DISPUTE_REVERSAL.value: _("Dispute won"),
    Type.PAYOUT.value: _("Payout"),
    Type.PAYOUT_FAILURE.value: _("Payout that came back"),
    Type.PAYOUT_CANCEL.value: _("Payout canceled"),
    Type.TOPUP.value: _("Top-up"),
    Type.TOPUP_REVERSAL.value: _("Top-up taken back"),
    Type.ADJUSTMENT.value: _("Written off by us"),
}
# By the reason why `available` changed.
CHANGES: dict[str, Any] = {"settlement": _("Payments that became available"), **TYPES}
# By the status of a payout: what it means for the money.
PAYOUTS: dict[str, Any] = {
    PayoutStatus.PENDING.value: _("The money is set aside, and nothing was sent yet."),
    PayoutStatus.IN_TRANSIT.value: _("It may be at the bank, which has not said yet how it ended."),
    PayoutStatus.PAID.value: _("The money has arrived on your account."),
    PayoutStatus.FAILED.value: _("The money did not stay on the account: it is available again."),
    PayoutStatus.CANCELED.value: _(
        "It was called off before it was sent: the money is available again."
    ),
}
FAILURES: dict[str, Any] = {
    FailureCode.ACCOUNT_CLOSED.value: _("The account has been closed."),
    FailureCode.NO_ACCOUNT.value: _("There is no such account."),
    FailureCode.INCORRECT_HOLDER.value: _("The account belongs to another holder than is known."),
    FailureCode.ACCOUNT_RESTRICTED.value: _("The account takes no transfers at the moment."),
    FailureCode.DECLINED.value: _("The bank declined the transfer."),
    FailureCode.COULD_NOT_PROCESS.value: _("The bank could not process the transfer."),
}
TOPUPS: dict[str, Any] = {
    TopupStatus.PENDING.value: _("We wait for your transfer."),
    TopupStatus.SUCCEEDED.value: _("The transfer has come: the money is available."),
    TopupStatus.FAILED.value: _("The transfer did not come: nothing was added."),
    TopupStatus.CANCELED.value: _("It was called off before the transfer came."),
    TopupStatus.REVERSED.value: _("The bank has taken the transfer back, out of your balance."),
}
TOPUP_FAILURES: dict[str, Any] = {
    TopupFailure.COULD_NOT_PROCESS.value: FAILURES[FailureCode.COULD_NOT_PROCESS.value],
}
# By the API's code, why a room below refused.
REFUSALS: dict[str, Any] = {
    "merchant_restricted": OF_PAYMENTS["merchant_restricted"],
    "balance_insufficient": _("This is more than is available."),
    "payout_unexpected_state": _("It has left for the bank meanwhile. Nothing was done."),
    "topup_unexpected_state": _("Its transfer has come meanwhile. Nothing was done."),
    "upstream_unavailable": _("No bank is connected that moves such money. Nothing was done."),
    "parameter_missing": _("No account of yours is registered. Ask us to register one."),
    "resource_missing": _("This account is not registered any more. Choose another one."),
    "lock_timeout": _("It is being changed right now. Try again shortly."),
}


class Schedule(NamedTuple):
    """A payout schedule in sentences."""

    interval: Any
    follows: Any
    delay: str
    installments: Any
    minimum: str


def schedule(terms: PayoutSchedule, currency: str) -> Schedule:
    """Return a schedule as a sentence.

    :param currency: of the merchant, in which the smallest amount is written.
    """
    days = terms.delay_days
    delay = ngettext(
        "A payment becomes available %(days)s business day after its capture.",
        "A payment becomes available %(days)s business days after its capture.",
        days,
    )
    whole = terms.installments == PayoutSchedule.Installments.WHOLE
    return Schedule(
        _interval(terms),
        ""
        if terms.interval == Interval.MANUAL
        else _(
            "All that is available then goes to your default account; if that day is no business"
            " day, on the next one."
        ),
        delay % {"days": days} if days else _same_day(),
        _("Payments in installments come whole.")
        if whole
        else _("Payments in installments come in a part each month."),
        money.written(terms.minimum_amount, currency) if terms.minimum_amount else "",
    )


def _same_day() -> str:
    return gettext(
        "A payment becomes available on the day of its capture, or the next business day."
    )


def _interval(terms: PayoutSchedule) -> Any:
    if terms.interval == Interval.DAILY:
        return _("Each business day")
    if terms.interval == Interval.WEEKLY:
        return WEEKDAYS.get(terms.weekly_anchor or "", "")
    if terms.interval == Interval.MONTHLY:
        return gettext("On day %(day)s of each month") % {"day": terms.monthly_anchor}
    return _("By hand: you ask for each payout")


def in_debt(funds: Funds, currency: str) -> str:
    """Return what it means that `available` is below zero; nothing if it is not."""
    if not funds.owed:
        return ""
    words = gettext(
        "%(owed)s more went back than there was. The next settlement or a top-up fills it up;"
        " until then nothing can be paid out."
    )
    if funds.negative_limit:
        words += " " + gettext("It may go %(limit)s below zero.")
    if not funds.allow(1):
        words += " " + gettext("Refunds wait until there is enough again.")
    return words % {
        "owed": money.written(funds.owed, currency),
        "limit": money.written(funds.negative_limit, currency),
    }
