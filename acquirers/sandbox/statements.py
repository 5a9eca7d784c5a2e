"""The test bank's statement: orders and refunds, both by the orders' references, read together."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import requests
from django.conf import settings

from acquirers import wire
from acquirers.gateway import StatementLine, StatementUnreadable
from acquirers.models import Terminal
from acquirers.sandbox import answers
from acquirers.sandbox.access import access_of
from acquirers.terminals import CredentialsUnreadable

Line = dict[str, Any]


def lines(session: requests.Session, terminal: Terminal, after: str) -> Iterator[StatementLine]:
    """Return the lines of the statement behind a reference, which are fetched as they are read.

    :raises StatementUnreadable: now or later: the bank did not give it to its end.
    """
    try:
        url = f"{access_of(terminal).url}/statement"
    except CredentialsUnreadable as error:
        raise StatementUnreadable("The terminal's credentials do not open.") from error
    return _lines(session, url, after)


def _lines(session: requests.Session, url: str, after: str) -> Iterator[StatementLine]:
    try:
        refunded = _refunds(session, f"{url}/refunds", after)
        groups = groupby(refunded, key=lambda one: one["order"])
        order, refunds = _next(groups)
        for line in _orders(session, url, after):
            while order is not None and order < line["reference"]:
                order, refunds = _next(groups)
            own = refunds if order == line["reference"] else {}
            yield answers.statement_line(line, own)
    except (wire.NoAnswer, KeyError, TypeError) as error:
        raise StatementUnreadable("The bank's statement cannot be read.") from error


def _next(groups: Iterator[tuple[str, Iterator[Line]]]) -> tuple[str | None, dict[str, int]]:
    """Return the next order that was refunded, with what stayed with the card of each refund."""
    order, refunds = next(groups, (None, iter(())))
    moved = {one["reference"]: one["repaid_amount"] - one["bounced_amount"] for one in refunds}
    return order, {reference: amount for reference, amount in moved.items() if amount}


def _orders(session: requests.Session, url: str, after: str) -> Iterator[Line]:
    has_more = True
    while has_more:
        lines, has_more = _page(session, url, after=after)
        yield from lines
        after = lines[-1]["reference"] if lines else after


def _refunds(session: requests.Session, url: str, after: str) -> Iterator[Line]:
    refund, has_more = "", True
    while has_more:
        lines, has_more = _page(session, url, after=after, refund=refund)
        yield from lines
        if lines:
            after, refund = lines[-1]["order"], lines[-1]["reference"]


def _page(session: requests.Session, url: str, **behind: str) -> tuple[list[Line], bool]:
    """Return the lines of a page, and whether others may come behind it."""
    address = f"{url}?{urlencode(behind)}"
    told = wire.get_json(session, address, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
    return list(told["lines"]), bool(told["has_more"])
