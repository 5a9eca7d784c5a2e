"""The test bank's notices: read page by page, each to its last character."""

import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import requests
from django.conf import settings

from acquirers import wire
from acquirers.noticed import Notice, NoticeKind, NoticesUnreadable
from acquirers.sandbox import answers

DISPUTE = re.compile(r"[0-9A-Z]{20}")
CURRENCY = re.compile(r"[a-z]{3}")
# A kind that is not listed may have reasons of its own.
WORD = re.compile(r"[a-z_]{1,40}")
AMOUNT_MAX_MINOR = 2**63 - 1
# The beginning of the year 10000: a moment behind it is an overflow, and no error of its form.
END_OF_TIME = 253_402_300_800
KINDS = {kind.value for kind in NoticeKind}
NETWORK_CODE = re.compile(r"[0-9A-Za-z.]{1,16}")


def behind(session: requests.Session, url: str, *, after: int, limit: int) -> list[Notice]:
    """Return the notices behind a number, as many as there are or as are wanted.

    :raises NoticesUnreadable: the bank did not give them, or one of them cannot be read.
    """
    found: list[Notice] = []
    while len(found) < limit:
        page = _page(session, url, after=found[-1].number if found else after)
        if not page:
            break
        found += page
    return found[:limit]


def _page(session: requests.Session, url: str, *, after: int) -> list[Notice]:
    address = f"{url}/notices?{urlencode({'after': after})}"
    try:
        told = wire.get_json(session, address, seconds=settings.ACQUIRER_TIMEOUT_SECONDS)
        notices = [_notice(one) for one in told["notices"]]
    except (wire.NoAnswer, *answers.UNREADABLE) as error:
        raise NoticesUnreadable("The bank's notices cannot be read.") from error
    # One that is left out would never be asked for again.
    if [one.number for one in notices] != [*range(after + 1, after + 1 + len(notices))]:
        raise NoticesUnreadable("The bank's notices are not numbered in their order.")
    return notices


def _notice(told: dict[str, Any]) -> Notice:
    return Notice(
        number=_integer(told["number"]),
        kind=_kind(told["kind"]),
        reference=answers.required(told["reference"], answers.REFERENCE),
        refund_reference=answers.text(told["refund_reference"], answers.REFERENCE),
        dispute=answers.text(told["dispute"], DISPUTE),
        amount=_amount(told["amount"]),
        currency=answers.required(told["currency"], CURRENCY),
        reason=answers.text(told["reason"], WORD),
        network_reason_code=answers.text(told["network_reason_code"], NETWORK_CODE),
        due_by=_moment(told["due_by"]) if told["due_by"] is not None else None,
        at=_moment(told["at"]),
    )


def _kind(value: Any) -> NoticeKind | str:
    """Read a kind; one that is not listed is kept for later, and stops no other notice."""
    word = answers.required(value, WORD)
    return NoticeKind(word) if word in KINDS else word


def _amount(value: Any) -> int | None:
    amount = answers.amount(value)
    if amount is not None and amount > AMOUNT_MAX_MINOR:
        raise ValueError
    return amount


def _moment(value: Any) -> datetime:
    return datetime.fromtimestamp(_integer(value, below=END_OF_TIME), UTC)


def _integer(value: Any, *, below: int = 2**53) -> int:
    if type(value) is not int or not 0 <= value < below:
        raise ValueError
    return value
