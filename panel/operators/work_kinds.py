"""The kinds of work that waits for operators, each with its rows in one statement.

The oldest come first. A kind whose rows may be many is cut in the database; those of terminals and
of daily runs are a handful.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import CharField, Count, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils import timezone

from acquirers.models import Terminal
from audit.daily import overdue
from audit.reconciliation.models import Difference
from cases import cases
from cases.models import Case, TakenWork
from cases.states import CaseStatus
from cases.work import CASE
from core import clock, money
from merchants.models import Merchant
from payments.charging import fraud_updates
from payments.intents.models import Attempt, PaymentIntent
from payments.intents.states import AttemptStatus
from payments.risk.verdicts import FraudStatus
from payouts.models import Payout
from payouts.states import PayoutStatus
from payouts.topups.models import IncomingTransfer
from payouts.topups.states import Arrival

# A bank that has not answered for so long is in trouble, and with it the terminal.
SILENT_FOR = timedelta(minutes=15)
# A payout that is neither sent after this nor arrived a day after its day is left open.
UNSENT_FOR, LATE_BY = timedelta(hours=1), timedelta(days=1)


class Wanted(NamedTuple):
    """The rows that are asked for.

    :param holder: the person who has them; 0 for none, None for all.
    :param subject: the one that is asked for, by its name in its kind.
    :param most: so many of the oldest.
    """

    merchant_id: str = ""
    holder: int | None = None
    subject: str = ""
    most: int = 1


class WorkItem(NamedTuple):
    """A piece of work as the list shows it.

    :param subject: its name in its kind.
    :param since: in the movable clock, but for daily runs.
    :param holder_id: of the person who has it.
    """

    kind: str
    subject: str
    told: str
    url: str
    since: datetime
    age: timedelta
    merchant: Merchant | None = None
    amount: str = ""
    holder_id: int | None = None


@dataclass(frozen=True, slots=True)
class WorkKind:
    """A kind of work.

    :param view: the permission of those who see it; `take` of those who may take it on.
    """

    name: str
    label: str
    view: str
    take: str
    items: Callable[[Wanted], Iterable[WorkItem]]


# --- Rows -------------------------------------------------------------------------------------


def _cases(wanted: Wanted) -> Iterator[WorkItem]:
    rows = Case.objects.filter(status=CaseStatus.OPEN).select_related("merchant")
    if wanted.holder is not None:
        rows = rows.filter(owner=wanted.holder or None)
    for row in _narrowed(rows, wanted).order_by("opened_at", "id")[: wanted.most]:
        told = f"{row.get_kind_display()}: {row.intent_id}"
        item = _item(CASE, row.id, told, "desk_case", row.opened_at)
        yield _with_money(item, row)._replace(holder_id=row.owner_id)


def _reviews(wanted: Wanted) -> Iterator[WorkItem]:
    rows = PaymentIntent.objects.filter(fraud__status=FraudStatus.REVIEW.value)
    shown = _narrowed(_held(rows, "review", wanted), wanted).select_related("merchant")
    for row in shown.order_by("id")[: wanted.most]:
        rule, risk = row.fraud.get("rule") or "none", row.fraud.get("risk_level")
        told = f"Risk {risk}, rule {rule}: {row.id}"
        item = _item("review", row.id, told, "desk_review_judge", row.created_at)
        yield _with_money(item, row)


def _transfers(wanted: Wanted) -> Iterator[WorkItem]:
    """Yield those that match nothing: they are no merchant's so far."""
    if wanted.merchant_id:
        return
    rows = IncomingTransfer.objects.filter(status=Arrival.UNMATCHED)
    shown = _narrowed(_held(rows, "transfer", wanted), wanted).select_related("merchant")
    for row in shown.order_by("created_at", "id")[: wanted.most]:
        told = f"No top-up waits for {row.reference}"
        page = "topups_incomingtransfer_change"
        yield _with_money(_item("transfer", str(row.pk), told, page, row.created_at), row)


def _payouts(wanted: Wanted) -> Iterator[WorkItem]:
    """Yield payouts that should have left, or arrived, by now; only open ones are ever due."""
    now = clock.now()
    rows = Payout.objects.filter(due_at__isnull=False)
    late = rows.filter(status=PayoutStatus.IN_TRANSIT, arrival_at__lt=now - LATE_BY)
    unsent = rows.filter(status=PayoutStatus.PENDING, created_at__lt=now - UNSENT_FOR)
    shown = _narrowed(_held(late | unsent, "payout", wanted), wanted).select_related("merchant")
    for row in shown.order_by("created_at", "id")[: wanted.most]:
        is_sent = row.status == PayoutStatus.IN_TRANSIT
        told = f"{'Not known to have arrived' if is_sent else 'Not sent yet'}: {row.id}"
        item = _item("payout", row.id, told, "payouts_payout_change", row.created_at)
        yield _with_money(item, row)


def _terminals(wanted: Wanted) -> Iterator[WorkItem]:
    """Yield terminals whose bank leaves attempts unanswered; a trouble is named by its day."""
    silent = Attempt.objects.filter(
        status=AttemptStatus.PROCESSING, asked_at__lt=clock.now() - SILENT_FOR
    )
    found = silent.values("terminal").annotate(count=Count("id"), since=Min("asked_at")).order_by()
    by_id = {one["terminal"]: one for one in found}
    rows = Terminal.objects.filter(id__in=by_id).select_related("merchant")
    if wanted.merchant_id:
        rows = rows.filter(merchant=wanted.merchant_id)
    for row in rows:
        since, count = by_id[row.id]["since"], by_id[row.id]["count"]
        told = f"{row.name}: {count} without an answer of the bank's"
        item = _item("terminal", row.id, told, "desk_terminal", since)
        yield item._replace(subject=f"{row.id}_{since:%Y%m%d}", merchant=row.merchant)


def _differences(wanted: Wanted) -> Iterator[WorkItem]:
    rows = _held(Difference.objects.filter(closed_at=None), "difference", wanted)
    rows = _narrowed(rows, wanted).select_related("merchant")
    for row in rows.order_by("opened_at", "id")[: wanted.most]:
        side = row.bank or row.ours or {}
        page = "reconciliation_difference_change"
        item = _item("difference", row.id, str(row), page, row.opened_at)
        amount = money.written(side["amount"], side["currency"]) if "currency" in side else ""
        yield item._replace(merchant=row.merchant, amount=amount, holder_id=row.holder_id)


def _runs(wanted: Wanted) -> Iterator[WorkItem]:
    """Yield the jobs whose newest run failed, did not happen, or found something."""
    if wanted.merchant_id:
        return
    for one in overdue.troubles():
        since = one.begun_at or timezone.now()
        url = reverse("admin:daily_dailyrun_changelist") + f"?job__exact={one.job.value}"
        told = f"{one.job.label}: {one.told}"
        age = timezone.now() - since
        yield WorkItem("run", f"{one.job.value}_{one.day}", told, url, since, age)


KINDS = (
    WorkKind(CASE, "Case", "cases.view_case", cases.RESOLVE, _cases),
    WorkKind(
        "review", "Review", "intents.view_paymentintent", fraud_updates.JUDGE, _reviews
    ),
    WorkKind(
        "transfer", "Transfer", "topups.view_incomingtransfer", "topups.decide_transfer",
        _transfers,
    ),
    WorkKind("payout", "Payout", "payouts.view_payout", "payouts.change_payout", _payouts),
    WorkKind(
        "terminal", "Terminal", "acquirers.view_terminal", "acquirers.manage_terminals",
        _terminals,
    ),
    WorkKind(
        "difference", "Difference", "reconciliation.view_difference", cases.RESOLVE,
        _differences,
    ),
    WorkKind("run", "Daily run", "daily.view_dailyrun", cases.RESOLVE, _runs),
)  # fmt: skip
BY_NAME = {kind.name: kind for kind in KINDS}


# --- Parts ------------------------------------------------------------------------------------


def _held(rows: QuerySet[Any], kind: str, wanted: Wanted) -> QuerySet[Any]:
    """Return rows with the person who has each, of all persons or the one that is asked for."""
    same = TakenWork.objects.filter(kind=kind, subject=Cast(OuterRef("pk"), CharField()))
    rows = rows.annotate(holder_id=Subquery(same.values("by")[:1]))
    if wanted.holder is None:
        return rows
    return rows.filter(holder_id=wanted.holder or None)


def _narrowed(rows: QuerySet[Any], wanted: Wanted) -> QuerySet[Any]:
    if wanted.merchant_id:
        rows = rows.filter(merchant=wanted.merchant_id)
    return rows.filter(pk=wanted.subject) if wanted.subject else rows


def _item(kind: str, subject: str, told: str, page: str, since: datetime) -> WorkItem:
    url = reverse(f"admin:{page}", args=[subject])
    return WorkItem(kind, subject, told, url, since, clock.now() - since)


def _with_money(item: WorkItem, row: Any) -> WorkItem:
    amount = row.amount + getattr(row, "surcharge", 0)
    holder = getattr(row, "holder_id", None)
    written = money.written(amount, row.currency)
    return item._replace(merchant=row.merchant, amount=written, holder_id=holder)
