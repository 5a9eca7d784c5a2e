"""A day of the bank's with money of every kind, its settlement file, and its readings."""

from datetime import date, timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management import call_command

from acquirers.notices.models import Inbox
from audit.reconciliation import reading
from audit.reconciliation.models import Difference, KeptLine
from audit.reconciliation.reading import Reading
from core import clock
from merchants.models import Merchant
from payments.disputes.models import Dispute
from payments.intents.models import Attempt
from payments.refunds.models import Refund
from testbank import behaviours, decisions
from tests.stage.bank_days import begin_at_noon
from tests.stage.bank_disputes import DISPUTED
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD
from tests.stage.notifier import take_in
from tests.stage.sweeper import sweep
from tests.stage.topups import come_after, top_up
from tests.stage.transfers import hear_after, pay_out, rich, sent

HEADER = "date,type,reference,merchant,currency,amount,value_date"
ISTANBUL = ZoneInfo("Europe/Istanbul")


def today() -> date:
    return clock.now().astimezone(ISTANBUL).date()


def hear() -> None:
    """Run the sweeper and the poller of notices, as beat does."""
    sweep()
    Inbox.objects.update(held_until=None)
    take_in()


def busy_day(shop: ApiClient) -> date:
    """Let money of every kind move at the bank on one day; return it."""
    rich(shop)  # Past the bank, on a day before.
    begin_at_noon()
    shop.pay()
    shop.pay(DECLINED_CARD)
    shop.pay(capture_method="manual")
    shop.refund(shop.pay()["id"])  # Of the same day: a void.
    shop.refund(shop.pay()["id"], 4000)
    bounced = shop.refund(shop.pay()["id"], 3000)
    decisions.bounce(Refund.objects.get(id=bounced["id"]).acquirer_reference)
    _complain(shop, decisions.lose)
    _complain(shop, decisions.lose, decisions.regain)
    _complain(shop, decisions.win)
    for destination in ("main", "test_bounced", "test_no_account"):
        sent(pay_out(shop, 5000, destination=destination)["id"])
        hear_after(10)
    top_up(shop, 2000)
    top_up(shop, 3000, source="test_reverse")
    for _ in ("they come", "one is taken back"):
        come_after(6)
    hear()
    return today()


def _complain(shop: ApiClient, *bank_decides: Any) -> None:
    paid = shop.pay(DISPUTED)["id"]
    clock.advance(behaviours.DISPUTED_AFTER)
    hear()
    reference = Dispute.objects.get(intent_id=paid).bank_reference
    for decide in bank_decides:
        decide(reference)
        hear()


def file_of(day: date, *, wrong: str | None = None) -> str:
    """Return the bank's file of a day."""
    out = StringIO()
    more = {"wrong": wrong} if wrong else {}
    call_command("bank_settlement_file", date=day, stdout=out, **more)
    return out.getvalue()


def read(text: str | bytes, *days: date) -> Reading:
    """Read a file."""
    raw = text.encode() if isinstance(text, str) else text
    return reading.read(BytesIO(raw), days=days)


def is_plain(day: date) -> bool:
    """Tell whether each line of a day's file agrees by itself with a booking of the same day.

    Of what we have on another day, the bank's day lacks nothing. And what went out and came back
    before we asked has failed here: its two lines agree together, or not at all.
    """
    lines = [line.split(",")[1:3] for line in file_of(day).splitlines()[1:]]
    came_back = {of for kind, of in lines if kind.endswith("_return")}
    went_out = {of for kind, of in lines if not kind.endswith("_return")}
    return not came_back & went_out and not KeptLine.objects.filter(day=day).exists()


def reconcile(text: str, directory: Path, *more: str) -> tuple[int, str]:
    """Read a file by the command; return its exit code and what it said."""
    path, out = directory / "bank.csv", StringIO()
    path.write_text(text)
    try:
        call_command("reconcile", str(path), *more, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


def found() -> list[tuple[str, str]]:
    """Return kind and type of each open difference, the oldest first."""
    rows = Difference.objects.filter(closed_at=None).order_by("opened_at", "id")
    return list(rows.values_list("kind", "type"))


def line(day: date, shop: ApiClient, **changes: Any) -> str:
    """Return a line of a file; without changes it is of no booking of ours."""
    fields = {
        "date": day, "type": "sale", "reference": "NOBODYASKED", "merchant": shop.merchant.id,
        "currency": "try", "amount": 12500, "value_date": day + timedelta(days=1), **changes,
    }  # fmt: skip
    return ",".join(str(value) for value in fields.values())


def sale(day: date, shop: ApiClient, payment_id: str, **changes: Any) -> str:
    """Return the bank's line of a payment that was charged."""
    attempt = Attempt.objects.get(intent_id=payment_id)
    told = {"reference": attempt.acquirer_reference, "amount": attempt.captured_minor}
    return line(day, shop, **{**told, **changes})


def a_file(*lines: str) -> str:
    return "\n".join([HEADER, *lines, ""])


def a_difference(merchant: Merchant) -> Difference:
    """Return an open case of reconciliation, past any file."""
    return Difference.objects.create(
        id="diff_planted", kind="missing_here", type="sale", reference="NOBODYASKED",
        day=today(), merchant=merchant, bank={"amount": 1}, opened_at=clock.now(),
    )  # fmt: skip
