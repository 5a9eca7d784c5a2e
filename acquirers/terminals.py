"""Terminals added, changed and tried; their secrets, which only their own adapter opens."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction

import acquirers
from acquirers import doubt, references, set_up
from acquirers.gateway import Order
from acquirers.models import Terminal
from acquirers.outcomes import Finding
from acquirers.set_up import SetUpRefused, Values
from core import clock, ids
from core.cards import BRANDS
from core.errors import NotSetUp
from core.keyring import SealBroken, UnknownKey, ring
from merchants import audit_log
from merchants.models import Merchant

log = structlog.get_logger(__name__)

MOVES = {
    Terminal.Status.ENABLED: "terminal.enabled",
    Terminal.Status.DRAINING: "terminal.drained",
    Terminal.Status.DISABLED: "terminal.disabled",
}


class CredentialsUnreadable(Exception):
    """The terminal's row was changed, or its key is not in the key ring."""


@transaction.atomic
def add(
    name: str,
    *,
    kind: str,
    values: Mapping[str, object] | None = None,
    merchant: Merchant | None = None,
    reason: str | None = None,
    **limits: Sequence[str],
) -> Terminal:
    """Write a terminal down, enabled; without a route it gets no payment.

    :param kind: a name in `settings.ACQUIRERS`.
    :param values: values for its adapter, by the names that the kind declares.
    :param merchant: whose contract it is; None for the installation's.
    :param reason: of the operator, for the audit log.
    :param limits: `currencies` and `brands` of the contract; left out: all.
    :raises SetUpRefused: an unknown kind, a bad name or limit, a field that is missing, unknown
        or malformed.
    """
    set_up.require_name(name)
    if Terminal.objects.filter(name=name).exists():
        raise SetUpRefused("name: there is a terminal of that name.")
    terminal = Terminal(
        id=ids.new("term"), name=name, kind=kind, merchant=merchant, created_at=clock.now()
    )
    _fill(terminal, values, limits)
    terminal.save(force_insert=True)
    _record("terminal.added", terminal, after=shown(terminal), reason=reason)
    return terminal


@transaction.atomic
def replace(
    terminal: Terminal,
    values: Mapping[str, object] | None,
    *,
    reason: str | None = None,
    **limits: Sequence[str],
) -> None:
    """Replace values and limits whole; every process uses the new ones with its next call.

    :raises SetUpRefused: as `add` does; nothing is changed then.
    """
    locked = Terminal.objects.select_for_update().get(id=terminal.id)
    before = shown(locked)
    _fill(locked, values, limits)
    locked.save(update_fields=["currencies", "brands", "shown_values", "sealed"])
    terminal.refresh_from_db()
    after = shown(terminal)
    _record("terminal.replaced", terminal, before=before, after=after, reason=reason)


@transaction.atomic
def move(terminal: Terminal, status: str, *, reason: str | None = None) -> None:
    """Enable, drain or disable a terminal; it counts from the next call on in every process."""
    locked = Terminal.objects.select_for_update().get(id=terminal.id)
    if locked.status == status:
        return
    before, locked.status = locked.status, status
    locked.save(update_fields=["status"])
    terminal.refresh_from_db()
    change = {"before": {"status": before}, "after": {"status": status}}
    _record(MOVES[Terminal.Status(status)], terminal, **change, reason=reason)


def shown(terminal: Terminal) -> dict[str, Any]:
    """Return a terminal as operators see it; never a secret."""
    return {
        "name": terminal.name,
        "kind": terminal.kind,
        "status": terminal.status,
        "merchant": terminal.merchant_id,
        "currencies": terminal.currencies,
        "brands": terminal.brands,
        "values": terminal.shown_values,
        "has_secrets": terminal.sealed is not None,
    }


def day_ends_at(terminal: Terminal) -> datetime | None:
    """Return when the bank closes the day that is open now; None if it has no end, or in doubt."""
    try:
        return acquirers.at(terminal).voidable_until(terminal, clock.now())
    except NotSetUp:
        return None
    except Exception as fault:  # noqa: BLE001 - A page shows the rest without it.
        doubt.note(fault, operation="voidable_until", terminal=terminal.name)
        return None


def problem_of(terminal: Terminal) -> str | None:
    """Ask the bank for an order that cannot exist: address, TLS and credentials have to be right.

    :returns: a sentence, with the bank's own code if it gave one; None if the bank answered.
    """
    if terminal.status == Terminal.Status.DISABLED:
        return "The terminal is disabled: its bank is asked nothing."
    order = Order(references.new(), terminal, terminal.merchant_id or "", 100, _currency(terminal))
    standing = doubt.standing_of(acquirers.at(terminal), order)
    if standing.finding is Finding.NO_RECORD:
        return None
    code, text = standing.exchange.code, standing.exchange.text
    told = ": ".join(part for part in (code, text) if part)
    return f"The bank did not answer that it has no such order ({told or 'no readable answer'})."


def credentials_of(terminal: Terminal) -> dict[str, str]:
    """Return all values of the terminal, secret or not. Only its adapter asks for it.

    :raises CredentialsUnreadable: an operator has to look into it; nothing can be asked meanwhile.
    """
    if terminal.sealed is None:
        return dict(terminal.shown_values)
    try:
        opened = json.loads(ring().open(bytes(terminal.sealed), context=terminal.seal_context))
    except (SealBroken, UnknownKey) as problem:
        log.error("terminal_credentials_unreadable", terminal=terminal.name)
        raise CredentialsUnreadable(terminal.name) from problem
    return {**terminal.shown_values, **opened}


def _fill(
    terminal: Terminal,
    values: Mapping[str, object] | None,
    limits: Mapping[str, Sequence[str]],
) -> None:
    if terminal.kind not in settings.ACQUIRERS:
        known = ", ".join(sorted(settings.ACQUIRERS)) or "none"
        raise SetUpRefused(f"kind: this installation has no such kind. It has: {known}.")
    checked = set_up.checked(acquirers.fields_of(terminal.kind), values or {})
    terminal.currencies = set_up.listed(
        "currencies", limits.get("currencies", []), set_up.currencies()
    )
    terminal.brands = set_up.listed("brands", limits.get("brands", []), BRANDS)
    terminal.shown_values, terminal.sealed = checked.shown, _sealed(terminal, checked)


def _sealed(terminal: Terminal, values: Values) -> bytes | None:
    if not values.secrets:
        return None
    content = json.dumps(values.secrets).encode()
    return ring().seal(content, context=terminal.seal_context)


def _currency(terminal: Terminal) -> str:
    return terminal.currencies[0] if terminal.currencies else set_up.currencies()[0]


def _record(action: str, terminal: Terminal, **change: Any) -> None:
    audit_log.record(action, merchant=terminal.merchant, subject=terminal.id, **change)
