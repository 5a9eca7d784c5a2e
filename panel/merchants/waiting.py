"""Waits for you: what a merchant's people may see to, the most urgent first, by role."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext

from core import local_days, money
from ledger import balance
from merchants.models import Member
from panel import permissions
from panel.merchants import hook_words, links, restores
from panel.merchants.dispute_words import REASONS
from panel.merchants.figures import Figures
from panel.permissions import Right
from panel.tallies import Tallies
from payments.disputes.models import Dispute
from payments.disputes.states import OPEN_INQUIRY
from webhooks.models import Endpoint

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# An answer within so long is urgent, or nearly so.
URGENT, NEAR = 2 * DAY, 4 * DAY


class WaitingThing(NamedTuple):
    """One thing that waits.

    :param level: 0 for what cannot wait, 1 for what is near, 2 for what has time.
    :param at: until when it waits, or since when; the order within a level.
    :param detail: what happens otherwise.
    :param when: `at` in short.
    """

    level: int
    at: datetime
    what: str
    text: str
    url: str
    detail: str
    when: str

    @property
    def mark(self) -> str:
        return ("!", "◔", "○")[self.level]

    @property
    def colour(self) -> str:
        return ("bad", "warn", "mute")[self.level]


def things(
    member: Member, known: Figures | None, counted: Tallies, now: datetime
) -> list[WaitingThing]:
    """Return what a member may see to, the most urgent first.

    :param known: the merchant's figures, with the rows that are named; None if there are none.
    """
    found = [*_restores(member, now), *_payments(member, counted, now)]
    if known:
        found += _disputes(member, known, now)
    if permissions.may(member, Right.SEE_BALANCE):
        found += [*_debts(member, counted, now), *_payouts(member, counted, now)]
    if known and permissions.may_open(member, "endpoint"):
        found += [*_endpoints(member, known, now), *_keys(member, known)]
    return sorted(found, key=lambda thing: (thing.level, thing.at))


def left(until: datetime, now: datetime) -> str:
    """Return how much time there is, in short: minutes count as less than an hour."""
    time = until - now
    if time < HOUR:
        return gettext("less than an hour left")
    if time < 2 * DAY:
        hours = int(time / HOUR)
        return ngettext("%(hours)s hour left", "%(hours)s hours left", hours) % {"hours": hours}
    return ngettext("%(days)s day left", "%(days)s days left", time.days) % {"days": time.days}


def level_of(until: datetime, now: datetime) -> int:
    """Return how urgent a deadline is: 0, 1 or 2."""
    time = until - now
    return 0 if time < URGENT else 1 if time < NEAR else 2


def _restores(member: Member, now: datetime) -> Iterator[WaitingThing]:
    if opened_at := restores.opened_lately():
        url = reverse("panel:restores", args=[member.merchant_id])
        day = date_format(local_days.of(opened_at, member.merchant.timezone), "DATE_FORMAT")
        text = gettext("Records of a short time may be missing")
        yield WaitingThing(0, now, "restore", text, url, "", day)


def _disputes(member: Member, known: Figures, now: datetime) -> Iterator[WaitingThing]:
    for row in known.disputes:
        until = row.evidence_due_by
        if until <= now:
            continue
        amount = {"amount": money.written(row.amount, row.currency)}
        yield WaitingThing(
            level_of(until, now), until, "dispute",
            gettext("Answer the dispute of %(amount)s") % amount, links.to(member, row.id),
            f"{REASONS.get(row.reason, row.reason)} · {_drafted(row)}", left(until, now),
        )  # fmt: skip


def _drafted(row: Dispute) -> str:
    if row.evidence:
        return gettext("a draft is kept")
    if row.status in OPEN_INQUIRY:
        return gettext("the bank may take the money back")
    return gettext("without an answer it is lost")


def _payments(member: Member, counted: Tallies, now: datetime) -> Iterator[WaitingThing]:
    payments = reverse("panel:payments", args=[member.merchant_id])
    if counted.silent and counted.silent_since:
        text: Any = ngettext(
            "%(number)s payment has no answer from the bank",
            "%(number)s payments have no answer from the bank",
            counted.silent,
        )
        yield WaitingThing(
            1, counted.silent_since, "silent", text % {"number": counted.silent},
            f"{payments}?status%5B%5D=processing",
            gettext("The bank is asked again by itself: do not charge again."),
            _since(member, counted.silent_since),
        )  # fmt: skip
    if counted.ending and (until := counted.first_ends_at):
        text = ngettext(
            "%(number)s payment is to be captured",
            "%(number)s payments are to be captured",
            counted.ending,
        )
        yield WaitingThing(
            level_of(until, now + DAY), until, "ending", text % {"number": counted.ending},
            f"{payments}?status%5B%5D=requires_capture",
            gettext("Otherwise the money is released to the cardholder."),
            left(max(until, now), now),
        )  # fmt: skip


def _debts(member: Member, counted: Tallies, now: datetime) -> Iterator[WaitingThing]:
    url = reverse("panel:balance", args=[member.merchant_id])
    for one in balance.shown(member.merchant)["available"]:
        if one["amount"] >= 0:
            continue
        owed = {"amount": money.written(one["amount"], one["currency"])}
        yield WaitingThing(
            1, now, "debt", gettext("The balance is below zero: %(amount)s") % owed, url,
            _waiting_refunds(counted) or gettext("Until it is filled up nothing is paid out."), "",
        )  # fmt: skip


def _waiting_refunds(counted: Tallies) -> str:
    if not counted.refunds:
        return ""
    words: Any = ngettext(
        "%(number)s refund waits until it is filled up",
        "%(number)s refunds wait until it is filled up",
        counted.refunds,
    )
    return str(words % {"number": counted.refunds})


def _payouts(member: Member, counted: Tallies, now: datetime) -> Iterator[WaitingThing]:
    if not counted.payouts or counted.payouts_since is None:
        return
    url = reverse("panel:payouts", args=[member.merchant_id])
    text: Any = ngettext("%(number)s payout failed", "%(number)s payouts failed", counted.payouts)
    yield WaitingThing(
        1, counted.payouts_since, "payout", text % {"number": counted.payouts},
        f"{url}?status%5B%5D=failed",
        gettext("The money is available again: see to the account, then pay out once more."),
        _since(member, counted.payouts_since),
    )  # fmt: skip


def _endpoints(member: Member, known: Figures, now: datetime) -> Iterator[WaitingThing]:
    for row in known.endpoints:
        text, otherwise = gettext("An endpoint is failing"), gettext("no events are sent to it")
        if is_in_trouble := row.status == Endpoint.Status.ENABLED and row.troubled_at:
            text = gettext("An endpoint does not answer")
            otherwise = hook_words.waiting(known.waiting[row.id], member.merchant) or gettext(
                "after ten attempts nothing more is sent to it"
            )
        when = _since(member, row.troubled_at) if row.troubled_at and is_in_trouble else ""
        url, detail = links.to(member, row.id), f"{row.url} · {otherwise}"
        yield WaitingThing(0, row.troubled_at or now, "endpoint", text, url, detail, when)


def _keys(member: Member, known: Figures) -> Iterator[WaitingThing]:
    for row in known.keys:
        until, now = row.expires_at, timezone.now()
        if until is None or until <= now:
            continue
        text = gettext("The key %(name)s expires") % {"name": row.name}
        url, otherwise = links.to(member, row.id), gettext("Programs that use it are refused then.")
        yield WaitingThing(
            level_of(until, now), until, "key", text, url, otherwise, left(until, now)
        )


def _since(member: Member, moment: datetime) -> str:
    local = local_days.shown(moment, member.merchant.timezone)
    return gettext("since %(moment)s") % {"moment": date_format(local, "j M H:i")}
