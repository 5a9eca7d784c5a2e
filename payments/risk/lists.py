"""The lists of what is blocked and what rules leave alone; an operator changes them here.

A merchant's people block for their own account by `own_blocks`.

Each change leaves a row in the audit log, in the same transaction.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from core import clock
from core.errors import DomainError, PermissionDenied, ResourceMissing
from core.keyring.needs import Need, Retired
from merchants import audit_log
from merchants.models import Merchant, User
from payments.risk import fingerprints
from payments.risk.models import ListEntry
from vault import cards

MANAGE = "risk.manage_lists"
BIN_DIGITS = 6  # As many as the service keeps of a card.
# Of the merchant's own entries and the installation's; its e-mails have fingerprints of their own.
MATCHING = """
    SELECT id, list, kind, merchant_id, value FROM risk_listentry
    WHERE (expires_at IS NULL OR expires_at > %(now)s) AND (
        merchant_id = %(merchant)s AND (
            kind = 'card' AND value = ANY (%(cards)s::text[])
            OR kind = 'email' AND value = ANY (%(emails)s::text[])
            OR kind = 'bin' AND value = %(bin)s)
        OR merchant_id IS NULL AND (
            kind = 'email' AND value = ANY (%(anywhere)s::text[])
            OR kind = 'bin' AND value = %(bin)s))
"""
# An entry of an earlier key, found by what it lists. One that others hold is renewed the next time.
RENEW = """
    UPDATE risk_listentry AS entry SET value = fresh.value
    FROM (
        SELECT held.id, given.value FROM risk_listentry AS held
        JOIN unnest(%(ids)s::bigint[], %(values)s::text[]) AS given (id, value) USING (id)
        FOR UPDATE OF held SKIP LOCKED
    ) AS fresh
    WHERE entry.id = fresh.id AND NOT EXISTS (
        SELECT FROM risk_listentry AS other
        WHERE (other.list, other.kind, other.value) = (entry.list, entry.kind, fresh.value)
            AND other.merchant_id IS NOT DISTINCT FROM entry.merchant_id)
"""
Kind, List = ListEntry.Kind, ListEntry.List


class EntryUnusable(DomainError):
    code = "parameter_invalid"
    message = "The entry cannot be made of this value."


class Payer(NamedTuple):
    """A payer as the lists know one.

    :param cards: the vault's fingerprints, that of the primary key first; `bin` the first six
        digits.
    :param networks: likewise of the payer's network; none if the merchant's server asks.
    """

    merchant_id: str
    cards: Sequence[str]
    bin: str
    email: str
    networks: Sequence[str] = ()


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
    """Return the lists that have the payer's card, BIN or e-mail; one statement.

    One more renews what is found under an earlier key of the fingerprints.
    """
    values: dict[str, Any] = {
        "now": now,
        "merchant": payer.merchant_id,
        "cards": list(payer.cards),
        "bin": payer.bin,
        "emails": fingerprints.all_of_email(payer.merchant_id, payer.email),
        "anywhere": fingerprints.all_of_email(None, payer.email),
    }
    with connection.cursor() as cursor:
        cursor.execute(MATCHING, values)
        found = cursor.fetchall()
    fresh = {}
    for entry_id, _list, kind, merchant_id, value in found:
        purpose = fingerprints.OF_KIND.get(kind)
        if purpose and fingerprints.is_superseded(purpose, value):
            ours = "anywhere" if merchant_id is None else f"{kind}s"
            fresh[entry_id] = values[ours][0]
    if fresh:
        renew(fresh)
    return {row[1] for row in found}


def renew(fresh: dict[int, str]) -> int:
    """Give entries their values under the primary key, by id; return how many got theirs.

    In the caller's transaction. An entry that others hold, or that is there twice, stays.
    """
    # An entry of the same may be written at this moment: then the earlier one stays.
    with suppress(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(RENEW, {"ids": list(fresh), "values": list(fresh.values())})
        return cursor.rowcount
    return 0


@transaction.atomic(durable=True)
def add(operator: User, merchant: Merchant | None, entry: BlockEntry) -> ListEntry:
    """Write an entry down; one that is there already gets the new reason and expiry.

    :param merchant: None for the whole installation: e-mails and BINs only.
    :raises PermissionDenied: the operator may not manage lists.
    :raises EntryUnusable: the value is none of its kind, or no reason is given.
    """
    _require(operator)
    return write(operator, merchant, entry, by_operator=True)


def write(
    by: User, merchant: Merchant | None, entry: BlockEntry, *, by_operator: bool
) -> ListEntry:
    """Write an entry down as `add` does, in the caller's transaction.

    :param by_operator: whether it is the operator's from now on, and not the merchant's own.
    :raises EntryUnusable: the value is none of its kind, or no reason is given.
    """
    value, shown = kept(merchant, entry)
    if not entry.reason.strip():
        raise EntryUnusable("An entry needs a reason.")
    _renew_earlier(merchant, entry, value)
    row, _is_new = ListEntry.objects.update_or_create(
        merchant=merchant,
        list=List(entry.list).value,
        kind=Kind(entry.kind).value,
        value=value,
        defaults={
            "sealed": _sealed(merchant, entry, shown),
            "shown": shown,
            "reason": entry.reason.strip(),
            "expires_at": entry.expires_at,
            "by": by,
            "by_operator": by_operator,
            "created_at": clock.now(),
        },
    )
    audit_log.record(
        "list_entry.added", merchant=merchant, subject=str(row.pk),
        after=_told(row), reason=row.reason,
    )  # fmt: skip
    return row


def _sealed(merchant: Merchant | None, entry: BlockEntry, shown: str) -> bytes | None:
    if entry.kind != Kind.EMAIL:
        return None
    return ListEntry(merchant=merchant, list=entry.list, shown=shown).sealing(entry.value)


def _renew_earlier(merchant: Merchant | None, entry: BlockEntry, value: str) -> None:
    """Renew an entry of the same payer under an earlier key, which is then found by its value."""
    earlier = values_of(merchant, entry)[1:]
    rows = ListEntry.objects.filter(merchant=merchant, list=entry.list, kind=entry.kind)
    if earlier and (found := rows.filter(value__in=earlier).first()):
        renew({found.pk: value})


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


def values_of(merchant: Merchant | None, entry: BlockEntry) -> list[str]:
    """Return by which values an entry of an e-mail or a card may be kept, the primary key's first.

    None of other kinds.
    """
    if entry.kind == Kind.EMAIL:
        return fingerprints.all_of_email(merchant.id if merchant else None, entry.value)
    if entry.kind == Kind.CARD and merchant:
        return cards.same_cards([(merchant.id, entry.value)])[entry.value]
    return []


def kept(merchant: Merchant | None, entry: BlockEntry) -> tuple[str, str]:
    """Return what is kept of an entry's value, and what people see of it."""
    merchant_id = merchant.id if merchant else None
    match Kind(entry.kind):
        case Kind.EMAIL if _is_address(entry.value):
            return fingerprints.of_email(merchant_id, entry.value), _masked(entry.value)
        case Kind.BIN if _is_bin(entry.value):
            return entry.value, entry.value
        case Kind.CARD if merchant and entry.shown:
            value = values_of(merchant, entry)[0]
            if not fingerprints.is_known(fingerprints.CARD, value):
                raise EntryUnusable("The payment is too old: its card is not recognised any more.")
            return value, entry.shown
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


def entries_need(kind: str) -> Need:
    """Return the need of entries: what they list cannot be hashed again before it is met."""

    def need(key: Retired) -> Iterator[str]:
        of_key = fingerprints.of_key("value", key.name)
        holds = Q(expires_at=None) | Q(expires_at__gt=clock.now())
        if count := ListEntry.objects.filter(of_key, holds, kind=kind).count():
            yield (
                f"{count} list entries of kind {kind} are of it: keep it for them, or take them off"
            )

    return need
