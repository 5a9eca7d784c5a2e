"""The lists of what is blocked and what rules leave alone; an operator changes them here.

A merchant's people block for their own account by `own_blocks`.

Each change leaves a row in the audit log, in the same transaction.
"""

from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, transaction

from core import clock
from core.errors import DomainError, PermissionDenied, ResourceMissing
from merchants import audit_log
from merchants.models import Merchant, User
from payments.risk import fingerprints
from payments.risk.models import ListEntry

MANAGE = "risk.manage_lists"
BIN_DIGITS = 6  # As many as the service keeps of a card.
# Of the merchant's own entries and the installation's; its e-mails have fingerprints of their own.
MATCHING = """
    SELECT DISTINCT list FROM risk_listentry
    WHERE (expires_at IS NULL OR expires_at > %(now)s) AND (
        merchant_id = %(merchant)s
            AND (kind, value) IN (
                ('card', %(card)s), ('email', %(email)s), ('bin', %(bin)s))
        OR merchant_id IS NULL
            AND (kind, value) IN (('email', %(anywhere)s), ('bin', %(bin)s)))
"""
Kind, List = ListEntry.Kind, ListEntry.List


class EntryUnusable(DomainError):
    code = "parameter_invalid"
    message = "The entry cannot be made of this value."


class Payer(NamedTuple):
    """A payer as the lists know one.

    :param card: the vault's fingerprint; `bin` the first six digits.
    :param network: the fingerprint of the payer's network; None if the merchant's server asks.
    """

    merchant_id: str
    card: str
    bin: str
    email: str
    network: str | None = None


class BlockEntry(NamedTuple):
    """An entry to be made.

    :param value: of a card its fingerprint; an e-mail and a BIN as they are written.
    :param shown: of a card, for people: never its whole number.
    """

    list: str
    kind: str
    value: str
    reason: str
    expires_at: datetime | None = None
    shown: str = ""


def matching(payer: Payer, now: datetime) -> set[str]:
    """Return the lists that have the payer's card, BIN or e-mail; one statement."""
    values: dict[str, Any] = {
        "now": now,
        "merchant": payer.merchant_id,
        "card": payer.card,
        "bin": payer.bin,
        "email": fingerprints.of_email(payer.merchant_id, payer.email),
        "anywhere": fingerprints.of_email(None, payer.email),
    }
    with connection.cursor() as cursor:
        cursor.execute(MATCHING, values)
        return {row[0] for row in cursor.fetchall()}


@transaction.atomic(durable=True)
def add(operator: User, merchant: Merchant | None, entry: BlockEntry) -> ListEntry:
    """Write an entry down; one that is there already gets the new reason and expiry.

    :param merchant: None for the whole installation: e-mails and BINs only.
    :raises PermissionDenied: the operator may not manage lists.
    :raises EntryUnusable: the value is none of its kind, or no reason is given.
    """
    _require(operator)
    return write(operator, merchant, entry)


def write(by: User, merchant: Merchant | None, entry: BlockEntry) -> ListEntry:
    """Write an entry down as `add` does, in the caller's transaction.

    :raises EntryUnusable: the value is none of its kind, or no reason is given.
    """
    value, shown = kept(merchant, entry)
    if not entry.reason.strip():
        raise EntryUnusable("An entry needs a reason.")
    row, _is_new = ListEntry.objects.update_or_create(
        merchant=merchant,
        list=List(entry.list).value,
        kind=Kind(entry.kind).value,
        value=value,
        defaults={
            "shown": shown,
            "reason": entry.reason.strip(),
            "expires_at": entry.expires_at,
            "by": by,
            "created_at": clock.now(),
        },
    )
    audit_log.record(
        "list_entry.added", merchant=merchant, subject=str(row.pk),
        after=_told(row), reason=row.reason,
    )  # fmt: skip
    return row


@transaction.atomic(durable=True)
def remove(operator: User, entry_id: int, *, reason: str) -> None:
    """Take an entry off its list.

    :raises PermissionDenied: the operator may not manage lists.
    :raises ResourceMissing: there is no such entry.
    """
    _require(operator)
    row = ListEntry.objects.select_for_update().filter(pk=entry_id).first()
    if row is None:
        raise ResourceMissing
    take_off(row, reason=reason)


def take_off(row: ListEntry, *, reason: str) -> None:
    """Take a locked entry off its list, in the caller's transaction."""
    told, number = _told(row), row.pk
    row.delete()
    audit_log.record(
        "list_entry.removed", merchant=row.merchant, subject=str(number),
        before=told, reason=reason,
    )  # fmt: skip


def _told(row: ListEntry) -> dict[str, Any]:
    """Return an entry as the audit log shows it: never with the value itself."""
    until = row.expires_at.isoformat() if row.expires_at else None
    return {"list": row.list, "kind": row.kind, "shown": row.shown, "expires_at": until}


def _require(operator: User) -> None:
    if not operator.has_perm(MANAGE):
        raise PermissionDenied("The operator may not manage the lists.")


def kept(merchant: Merchant | None, entry: BlockEntry) -> tuple[str, str]:
    """Return what is kept of an entry's value, and what people see of it."""
    merchant_id = merchant.id if merchant else None
    match Kind(entry.kind):
        case Kind.EMAIL if _is_address(entry.value):
            return fingerprints.of_email(merchant_id, entry.value), _masked(entry.value)
        case Kind.BIN if _is_bin(entry.value):
            return entry.value, entry.value
        case Kind.CARD if merchant_id and entry.shown:
            return entry.value, entry.shown
    raise EntryUnusable


def _is_address(value: str) -> bool:
    # A stored one of letters that no new address may have can still be listed.
    try:
        validate_email(value.strip())
    except ValidationError:
        return False
    return True


def _is_bin(value: str) -> bool:
    return len(value) == BIN_DIGITS and value.isascii() and value.isdecimal()


def _masked(email: str) -> str:
    name, _, host = email.strip().rpartition("@")
    return f"{name[:1]}…@{host}"
