"""Cards and e-mails that a merchant's own people block for their account, and let in again.

An operator's entry is no one's here: it can be neither changed nor taken off.
"""

from collections.abc import Collection

from django.db import transaction
from django.db.models import Q

from core import clock
from core.detection import contains_card_number
from core.errors import DomainError, PermissionDenied, ResourceMissing
from core.secrets_in_text import holds_secret_key
from merchants.models import Merchant, User
from payments.risk import lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry

REASON_MAX = 500


class BlockedByOperator(PermissionDenied):
    message = "It is blocked by the operator of the service."


class ReasonUnusable(DomainError):
    code = "parameter_invalid"
    message = "A reason has 1 to 500 characters, without card numbers and secret keys."
    param = "reason"


def current(merchant: Merchant, values: Collection[tuple[str, str]]) -> list[ListEntry]:
    """Return the blocks of a merchant's account that hold now, of these kinds and values."""
    wanted = Q()
    for kind, value in values:
        wanted |= Q(kind=kind, value=value)
    if not wanted:
        return []
    holds = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    rows = ListEntry.objects.for_merchant(merchant).filter(wanted, holds, list="block")
    return list(rows.select_related("by").order_by("kind", "pk"))


@transaction.atomic
def block(merchant: Merchant, by: User, entry: BlockEntry) -> ListEntry:
    """Block a card or an e-mail for the merchant; a blocked one gets the new reason and expiry.

    :param by: a person of the merchant's team.
    :raises BlockedByOperator: an operator has blocked it already.
    :raises ReasonUnusable: there is none, or it is too long, or has a card number in it.
    :raises EntryUnusable: the value is none of its kind.
    """
    _require_reason(entry.reason)
    value, _shown = lists.kept(merchant, entry)
    rows = ListEntry.objects.for_merchant(merchant).select_for_update(of=("self",))
    values = lists.values_of(merchant, entry) or [value]
    named = rows.select_related("by").filter(list="block", kind=entry.kind, value__in=values)
    known = named.first()
    if known and known.is_operators() and _holds(known):
        raise BlockedByOperator
    return lists.write(by, merchant, entry, by_operator=False)


@transaction.atomic
def let_in(merchant: Merchant, entry_id: int, *, reason: str) -> None:
    """Take one of the merchant's own blocks away.

    :raises ResourceMissing: there is no such block.
    :raises BlockedByOperator: it is an operator's.
    :raises ReasonUnusable: as `block` does.
    """
    _require_reason(reason)
    rows = ListEntry.objects.for_merchant(merchant).select_for_update(of=("self",))
    row = rows.select_related("by", "merchant").filter(list="block", pk=entry_id).first()
    if row is None:
        raise ResourceMissing
    if row.is_operators():
        raise BlockedByOperator
    lists.take_off(row, reason=reason.strip())


def _holds(row: ListEntry) -> bool:
    return row.expires_at is None or row.expires_at > clock.now()


def _require_reason(reason: str) -> None:
    text = reason.strip()
    is_unsafe = contains_card_number(text) or holds_secret_key(text)
    if not 1 <= len(text) <= REASON_MAX or is_unsafe:
        raise ReasonUnusable
