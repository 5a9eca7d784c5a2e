"""The panel's pages, opened and measured: `python -m bench.panel_reads ORDER.json`.

In a process of its own, without a web server: the time of a page is the service's own. Prints JSON.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern

from bench import (
    buffers,
    installation,  # noqa: F401
    panel_fill,
    panel_full,
)
from bench.bars import Figures
from bench.panel_cases import FILTERED, NOTHING, Case
from core import clock
from ledger.models import Run
from merchants.models import AuditEntry, Member, Merchant, User
from panel.merchants import exports, urls
from panel.merchants import figures as overview_figures
from payments.customers.models import Customer
from payments.disputes.models import Dispute
from payouts.models import Payout
from payouts.topups.models import Topup
from webhooks.models import Delivery

# No pages of a merchant, and not opened by GET alone.
OF_EVERYBODY = {"home", "look"}
OF_TRANSACTIONS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SET LOCAL")
LATE_WORDS = "Narrow the time"
AT_DEPTH = "SELECT id FROM {} WHERE merchant_id = %s AND {} ORDER BY {} OFFSET %s LIMIT 1"


class Opened(NamedTuple):
    """A page that was opened.

    :param statements: all of them, those about transactions and their limits among them.
    :param questions: the statements without those.
    :param buffers: shared buffers that PostgreSQL touched for its questions.
    :param is_late: the page gave up, and asks to narrow the time.
    :param is_late_explained: PostgreSQL gave a question up while it was explained, which takes
        longer than the question by itself: its buffers are not known.
    """

    statements: int
    questions: int
    ms: float
    bytes: int
    buffers: int
    is_late: bool
    is_late_explained: bool = False


@dataclass
class Reader:
    """Opens pages of one merchant as its owner; `wrong` describes the answers that were none."""

    merchant: Merchant
    rows: int
    depth: int
    rounds: int
    wrong: list[str] = field(default_factory=list)
    before_each: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.client = signed_in(owner_of(self.merchant))
        self.endpoint = Delivery.objects.filter(merchant=self.merchant).values_list(
            "endpoint_id", flat=True
        )[0]
        now = clock.now()
        once_in = panel_fill.rare_once_in(self.rows)
        rare = next(n for n in range(7, 7 + 12 * once_in, once_in) if n % 11)
        self.values = {
            "rare": f"{rare:024}",
            "common": f"{rare + (1 if (rare + 1) % 11 else 2):024}",
            "key": panel_fill.key_of(self.merchant),
            "endpoint": self.endpoint,
            "customer": Customer.objects.filter(merchant=self.merchant)[0].pk,
            "day": int((now - timedelta(days=1)).timestamp()),
            "week": int((now - timedelta(days=7)).timestamp()),
        }

    def open_all(self) -> Figures:
        """Open every page of the URL table, and all filters."""
        figures: Figures = {}
        for one in pages():
            figures |= self.case(Case(str(one.name)))
        for case in FILTERED:
            figures |= self.case(case)
        return figures | self.open_dearest()

    def open_dearest(self) -> Figures:
        """Open the overview without figures of before, and a payment to which much happened."""
        self.before_each = overview_figures.forget
        figures = named("overview, cold", self.open("overview", ""))
        self.before_each = lambda: None
        self.values = {**self.values, "common": panel_full.NUMBER}
        return figures | named("payment, full", self.open("payment", ""))

    def export(self, since: int) -> Figures:
        """Export the payments that are not older than so many Unix seconds."""
        url = address("export_payments", self.merchant, self.values)
        return panel_full.export(self.client, f"{url}?created[gte]={since}", settings.PANEL_AT)

    def case(self, case: Case) -> Figures:
        """Open a page; a list also at depth, and what may be late for one day, too."""
        query = case.query.format(**self.values)
        first = self.open(case.page, query)
        figures = named(case.name, first)
        if case.may_be_late:
            narrowed = self.open(case.page, f"{query}&created[gte]={self.values['day']}")
            figures |= named(f"{case.name}, a day", narrowed)
            figures[f"{case.name}: may_be_late"] = 1
        elif first and (first.is_late or first.is_late_explained):
            self.wrong.append(f"{case.name} is late, although an index has it")
        if case.where and (deep := self.open(case.page, f"{query}&{self._cursor(case)}")):
            figures |= named(f"{case.name}, deep", deep)
            if deep.is_late_explained and not case.may_be_late:
                self.wrong.append(f"{case.name}, deep is late, although an index has it")
            figures[f"{case.name}, deep: buffers more"] = deep.buffers - (first or deep).buffers
        return figures

    def _leads_on(self, page: str, answer: Any) -> bool:
        """Return whether it is the search, which leads from a whole id to its object's page."""
        way = answer.headers.get("Location", "")
        return page == "search" and way.startswith(f"/panel/{self.merchant.id}/")

    def open(self, page: str, query: str) -> Opened | None:
        """Open a page some times; None if it is none, and `wrong` says so."""
        url = f"{address(page, self.merchant, self.values)}?{_escaped(query)}"
        # The first time is not measured: it finds no row in memory.
        answer = self._get(url)
        is_late = LATE_WORDS in answer.content.decode()
        if answer.status_code != 200 and not is_late and not self._leads_on(page, answer):
            self.wrong.append(f"{url} answered {answer.status_code}")
            return None
        return opened(lambda: self._get(url), rounds=self.rounds, is_late=is_late)

    def _get(self, url: str) -> Any:
        self.before_each()
        return self.client.get(url, headers={"Host": settings.PANEL_AT})

    def _cursor(self, case: Case) -> str:
        by_id = case.table == "webhooks_delivery"
        order = "id DESC" if by_id else "created_at DESC, id DESC"
        where = case.where.format(**self.values)
        with connection.cursor() as cursor:
            cursor.execute(
                AT_DEPTH.format(case.table, where, order), [self.merchant.id, self.depth - 1]
            )
            found = cursor.fetchone()
        return f"starting_after={found[0] if found else NOTHING}"


def opened(get: Callable[[], Any], *, rounds: int, is_late: bool = False) -> Opened:
    """Open a page some times, and count what that costs."""
    with CaptureQueriesContext(connection) as asked:
        content = get().content
    # At once: the next request empties the connection's own list of them.
    statements = [one["sql"] for one in asked]
    questions = sum(not sql.lstrip().startswith(OF_TRANSACTIONS) for sql in statements)
    took = [_ms(get) for _ in range(1 if is_late else rounds)]
    explained = None if is_late else buffers.of_questions(get)
    read = sum(explained.buffers) if explained else 0
    is_late_explained = explained is not None and explained.is_late
    costs = statistics.median(took), len(content), read
    return Opened(len(statements), questions, *costs, is_late, is_late_explained)


def pages() -> list[URLPattern]:
    """Return the pages of a merchant, of the panel's URL table."""
    return [one for one in urls.urlpatterns if one.name not in OF_EVERYBODY]


def address(page: str, merchant: Merchant, values: dict[str, Any]) -> str:
    """Return the address of a page, of a thing of the merchant's.

    :raises KeyError: the page shows a thing, and `THINGS` has none of its kind.
    """
    pattern = next(one for one in urls.urlpatterns if one.name == page).pattern
    url = str(pattern).replace("<str:merchant>", merchant.id)
    for kind in list(pattern.converters)[1:]:
        found = THINGS.get(page) or THINGS[kind]
        url = url.replace(f"<str:{kind}>", str(found(merchant, values)))
    return f"/panel/{url}"


# By the name of the part of the address, or of the page: the id of a thing of the merchant's.
THINGS: dict[str, Callable[[Merchant, dict[str, Any]], Any]] = {
    "remove_website": lambda merchant, _values: merchant.websites.order_by("id")[0].pk,
    "remove_callback": lambda merchant, _values: merchant.callback_urls.order_by("id")[0].pk,
    "unblock_payer": lambda _merchant, _values: f"pi_{panel_full.NUMBER}",
    "key": lambda _merchant, values: values["key"],
    "request_log": lambda _merchant, values: f"req_{values['common']}",
    "endpoint": lambda _merchant, values: values["endpoint"],
    "delivery": lambda _merchant, values: f"whd_{values['common']}",
    "event": lambda _merchant, values: f"evt_{values['common']}",
    "payment": lambda _merchant, values: f"pi_{values['common']}",
    "dispute": lambda merchant, _values: Dispute.objects.filter(merchant=merchant)[0].pk,
    "payout": lambda merchant, _values: Payout.objects.filter(merchant=merchant)[0].pk,
    "topup": lambda merchant, _values: Topup.objects.filter(merchant=merchant)[0].pk,
    "settlement": lambda merchant, _values: Run.objects.filter(merchant=merchant)[0].pk,
    "customer": lambda merchant, _values: Customer.objects.filter(merchant=merchant)[0].pk,
    "entry": lambda merchant, _values: AuditEntry.objects.filter(merchant=merchant)[0].pk,
    "person": lambda merchant, _values: merchant.members.exclude(role=Member.Role.OWNER)[0].pk,
    "invitation": lambda merchant, _values: merchant.invitations.all()[0].pk,
}


def measure(merchant_id: str, rows: int, depth: int, rounds: int) -> dict[str, Any]:
    """Fill the tables, and open everything."""
    merchant = Merchant.objects.get(id=merchant_id)
    began = time.monotonic()
    panel_fill.fill(merchant, rows)
    figures: Figures = {"fill_seconds": time.monotonic() - began}
    reader = Reader(merchant, rows, depth, rounds)
    # As many as one file has, or all if they are fewer.
    since = panel_full.newest(merchant, most=exports.ROWS_MOST)
    figures |= reader.open_all() | reader.export(since)
    return {"figures": figures, "wrong": reader.wrong, "newest_since": since}


def named(name: str, page: Opened | None) -> Figures:
    """Return the figures of a page under its name; none if it was no page."""
    if page is None:
        return {}
    return {f"{name}: {what}": float(value) if what == "ms" else int(value)
            for what, value in page._asdict().items()}  # fmt: skip


def _escaped(query: str) -> str:
    return "&".join(
        f"{name}={quote(value, safe='')}"
        for name, _sign, value in (part.partition("=") for part in query.split("&") if part)
    )


def _ms(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def signed_in(user: User) -> Client:
    """Return the browser of a person who has just typed the password again."""
    client = Client(headers={"Accept": "text/html"})
    client.force_login(user)
    session = client.session
    session["account_authentication_methods"] = [
        {"method": "password", "at": time.time(), "reauthenticated": True}
    ]
    session["account_authentication_methods_user"] = str(user.pk)
    session.save()
    return client


def owner_of(merchant: Merchant) -> User:
    """Return the merchant's owner."""
    return Member.objects.filter(merchant=merchant, role="owner").select_related("user")[0].user


if __name__ == "__main__":
    order = json.loads(Path(sys.argv[1]).read_text())
    print(json.dumps(measure(**order)))
