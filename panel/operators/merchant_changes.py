"""A change of a merchant's terms in two steps: its effect is shown first, and then it is made."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from django.db import transaction

from api import request_logs
from core import context
from merchants import accounts, terms
from merchants.models import Merchant

# The name of this work in the request logs.
CHANGED = "operators.change_merchant"
Changes = Mapping[str, Any]


class TermDifference(NamedTuple):
    """One term, before and after, each as lines for people; only the rows that differ of a list."""

    name: str
    before: list[str]
    after: list[str]


class Preview(NamedTuple):
    """The effect of a change.

    :param seen: stands for the values before; `make` takes it back.
    """

    differences: list[TermDifference]
    seen: str


class ChangedMeanwhile(Exception):
    """The terms are others than those that the person was shown; nothing has changed."""


@transaction.atomic(durable=True)
def preview(merchant: Merchant, changes: Changes) -> Preview:
    """Return the effect of a change: it is made, and taken back.

    :param changes: as `accounts.change` takes them.
    :raises ChangeRefused: one of them cannot be made.
    """
    locked = _locked(merchant)
    before = _read(locked, changes)
    changed = accounts.change(locked, changes)
    after = _read(changed, changes)
    transaction.set_rollback(True)
    shown = [_difference(name, before[name], after[name]) for name in before]
    return Preview([one for one in shown if one.before != one.after], _digest(before))


def make(merchant: Merchant, changes: Changes, *, seen: str, reason: str) -> Merchant:
    """Make a change that was shown, and return the merchant as it is now.

    :param seen: the preview's.
    :raises ChangedMeanwhile: the terms are others by now.
    :raises ChangeRefused: one of the changes cannot be made.
    """
    with request_logs.job(CHANGED):
        return _make(merchant, changes, seen, reason)


@transaction.atomic(durable=True)
def _make(merchant: Merchant, changes: Changes, seen: str, reason: str) -> Merchant:
    locked = _locked(merchant)
    if _digest(_read(locked, changes)) != seen:
        raise ChangedMeanwhile
    changed = accounts.change(locked, changes, reason)
    # Limits below zero tell no event; the audit row's request is found all the same.
    context.note_change(merchant.id, merchant.id)
    return changed


def _locked(merchant: Merchant) -> Merchant:
    return Merchant.objects.select_for_update(no_key=True).get(id=merchant.id)


def _read(merchant: Merchant, changes: Changes) -> dict[str, Any]:
    found = (terms.find(name) for name in changes)
    return {term.shown_as or term.name: term.read(merchant) for term in found}


def _digest(values: dict[str, Any]) -> str:
    written = orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(written).hexdigest()


def _difference(name: str, before: Any, after: Any) -> TermDifference:
    if isinstance(before, list):
        gone = [row for row in before if row not in after]
        came = [row for row in after if row not in before]
        return TermDifference(_words(name), [_line(r) for r in gone], [_line(r) for r in came])
    return TermDifference(_words(name), [_line(before)], [_line(after)])


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_words(name)}: {_line(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value in (None, "") else str(value)
