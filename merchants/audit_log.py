"""The audit log: who changed what, in chains of keyed hashes that show tampering.

The first four nouns of the list are recorded by every door, the API too. Of money, customers and
cases the log keeps what a person does; requests of API keys are in the request logs
(contract: Audit log, docs/operate/audit-log.md).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db import connection
from django.utils import timezone

from core import context, ids
from core.context import ActorKind
from core.keyring import ring
from core.keyring.needs import Retired
from core.scrub import scrub
from merchants.models import AuditEntry, Merchant, User

PURPOSE = "audit_log"
PEOPLE = (ActorKind.USER, ActorKind.OPERATOR)
INSTALLATION = "installation"
# The closed list: a noun, and what may happen to it.
VERBS = {
    "key": ("created", "rolled", "revoked"),
    "website": ("added", "removed"),
    "callback": ("added", "removed"),
    "endpoint": ("created", "updated", "deleted", "secret_rolled", "replayed", "tested"),
    "event": ("resent",),
    "member": ("added", "removed", "role_changed"),
    "invitation": ("sent", "accepted", "withdrawn"),
    "merchant": ("opened", "updated"),
    "limit": ("changed",),
    "plan": ("changed",),
    "price": ("changed",),
    "risk_rule": ("changed",),
    "list_entry": ("added", "removed"),
    "customer": ("created", "updated", "deleted"),
    "payment": ("captured", "canceled", "judged", "noted"),
    "checkout": ("created", "expired"),
    "refund": ("created", "canceled"),
    "dispute": ("opened", "updated", "submitted", "closed", "decided"),
    "payout": ("created", "canceled"),
    "payout_account": ("added", "removed", "made_default"),
    "balance": ("written_off",),
    "topup": ("created", "canceled", "assigned", "sent_back"),
    "export": ("made",),
    "case": ("opened", "assigned", "noted", "decided"),
    "work": ("taken", "given_back"),
    "bins": ("imported", "undone"),
    "terminal": ("added", "replaced", "enabled", "drained", "disabled"),
    "route": ("added", "removed"),
    "holiday": ("added", "removed"),
    "installation": ("opened",),
    "key_ring": (
        "made",
        "opened",
        "wrapped",
        "key_added",
        "key_promoted",
        "key_retired",
        "key_purged",
        "key_put_back",
    ),
    "operator": ("invited", "withdrawn", "added", "changed", "made"),
    "person": ("switched_off", "switched_on", "locked_unused", "came_back"),
    "sign_in": ("succeeded", "refused", "locked", "unlocked"),
    "session": ("ended",),
    "mfa": ("added", "removed", "refused"),
    "password": ("changed",),
    "audit_log": ("read", "verified"),
    "day": ("digested",),
}
ACTIONS = frozenset(f"{noun}.{verb}" for noun, verbs in VERBS.items() for verb in verbs)

# The number of the next link, and the hash of the link before it. The row lock lasts until the
# transaction ends: a chain has no gap and no fork, however many write at once.
NEXT = """
INSERT INTO merchants_audithead AS head (chain, sequence, hash) VALUES (%(chain)s, 1, '')
ON CONFLICT (chain) DO UPDATE SET sequence = head.sequence + 1
RETURNING sequence, hash
"""
_COLUMNS = [str(field.column) for field in AuditEntry._meta.concrete_fields]
APPEND = f"""
WITH entry AS (
    INSERT INTO merchants_auditentry ({", ".join(_COLUMNS)})
    VALUES ({", ".join(f"%({name})s" for name in _COLUMNS)}) RETURNING chain, hash
)
UPDATE merchants_audithead AS head SET hash = entry.hash FROM entry WHERE head.chain = entry.chain
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change as the log will keep it; `record_all` writes it when all else is written.

    :param before: the values before it, only of what changed; None for what is new.
    :param after: the values after it; None for what is gone.
    """

    action: str
    subject: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def record(  # noqa: PLR0913  # A row of the log has that much to say, and each caller names it.
    action: str,
    *,
    merchant: Merchant | None,
    subject: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str | None = None,
    entry_id: str | None = None,
) -> AuditEntry:
    """Append a change to the merchant's chain, or to the installation's, in its transaction.

    Call it last: after the events of the change, and just before the commit. Actor, address and
    request come from the current work.

    :param action: `noun.verb` of the closed list.
    :param merchant: whose change it is; None for one of the installation.
    :param subject: the id of the object that was changed.
    :param entry_id: of the row, if the change itself has kept it; else it is a fresh one.
    :raises ValueError: no such action.
    """
    change = LoggedChange(action, subject, before, after)
    chain = f"merchant:{merchant.id}" if merchant else INSTALLATION
    return _append(chain, merchant, change, reason, entry_id)


def record_by_person(
    action: str, *, merchant: Merchant, subject: str, after: Mapping[str, Any] | None = None
) -> AuditEntry | None:
    """Append a change as `record` does if a person makes it; None if a key or a job does.

    Requests of API keys are in the request logs (contract: Audit log).

    :raises ValueError: no such action.
    """
    if context.actor().kind not in PEOPLE:
        return None
    return record(action, merchant=merchant, subject=subject, after=after)


def record_all(
    merchant: Merchant, changes: Iterable[LoggedChange], reason: str | None = None
) -> None:
    """Append several changes of one merchant, as `record` does one."""
    for change in changes:
        _append(f"merchant:{merchant.id}", merchant, change, reason)


def record_of_person(
    action: str,
    user: User,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str | None = None,
) -> AuditEntry:
    """Append what happened to a person's own account to that person's chain.

    :param action: `noun.verb` of the closed list.
    :param after: more about it, such as the kind of a second factor.
    :raises ValueError: no such action.
    """
    return _append(
        f"user:{user.pk}", None, LoggedChange(action, str(user.pk), before, after), reason
    )


def record_of_number(action: str, number: str, after: Mapping[str, Any]) -> AuditEntry:
    """Append what happened to a person's account, who may be deleted by now, by their key."""
    return _append(f"user:{number}", None, LoggedChange(action, number, None, after), None)


def difference(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of what changed, before and after."""
    changed = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in changed}, {name: after[name] for name in changed}


def _append(
    chain: str,
    merchant: Merchant | None,
    change: LoggedChange,
    reason: str | None,
    entry_id: str | None = None,
) -> AuditEntry:
    if change.action not in ACTIONS:
        raise ValueError(f"the audit log knows no action {change.action!r}")
    if not connection.in_atomic_block:
        raise RuntimeError("an audit row is written in the transaction of its change")
    actor = context.actor()
    entry = AuditEntry(
        id=entry_id or ids.new("aud"),
        chain=chain,
        merchant_id=merchant.id if merchant else None,
        action=change.action,
        subject=scrub(change.subject),
        before=_kept(change.before),
        after=_kept(change.after),
        reason=scrub(reason) or None,
        actor=actor.kind,
        actor_id=actor.id,
        actor_name=scrub(actor.name),
        address=context.address(),
        request_id=context.request_id(),
        created_at=timezone.now(),
    )
    with connection.cursor() as cursor:
        cursor.execute(NEXT, {"chain": chain})
        entry.sequence, previous = cursor.fetchone()
        entry.hash = link(values_of(entry), bytes(previous))
        cursor.execute(APPEND, _parameters(entry))
    return entry


def _kept(values: Mapping[str, Any] | None) -> Any:
    # To JSON and back: what is hashed is what the database gives back.
    return None if values is None else orjson.loads(orjson.dumps(scrub(dict(values))))


def _parameters(entry: AuditEntry) -> dict[str, Any]:
    fields = AuditEntry._meta.concrete_fields
    return {
        str(field.column): field.get_db_prep_save(getattr(entry, field.attname), connection)
        for field in fields
    }


# --- Hashes -----------------------------------------------------------------------------------

HASHED = tuple(column for column in _COLUMNS if column != "hash")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCKS_DIFFER = timedelta(hours=1)


def values_of(entry: AuditEntry) -> dict[str, Any]:
    """Return all columns of a row but its hash, as they are hashed: moments in microseconds."""
    values = {name: getattr(entry, name) for name in HASHED}
    return {**values, "created_at": (entry.created_at - EPOCH) // timedelta(microseconds=1)}


def moment_of(values: dict[str, Any]) -> datetime:
    """Return when a row was made, of its values; the beginning of time for one without a moment."""
    return EPOCH + timedelta(microseconds=values["created_at"] or 0)


def link(values: dict[str, Any], previous: bytes) -> bytes:
    """Return the hash of a row that follows the one with the hash `previous`.

    :param values: as `values_of` returns them.
    :param previous: empty for the first row of a chain.
    """
    return ring().mac(PURPOSE, _canonical(values, previous))


def maker_of(values: dict[str, Any], previous: bytes, hashed: bytes) -> str | None:
    """Return the name of the key by which a row follows the one before; None if it does not."""
    return ring().maker_of(PURPOSE, _canonical(values, previous), hashed)


def is_too_late_for(key: str, made_at: datetime) -> bool:
    """Return whether a key was retired before a row was made; hosts' clocks may differ."""
    retired_at = ring().retired_at.get(key)
    return retired_at is not None and made_at > retired_at + CLOCKS_DIFFER


def needed(key: Retired) -> Iterator[str]:
    """Yield up to when rows of the log are proved by a key."""
    rows = AuditEntry.objects.filter(created_at__lt=key.retired_at + CLOCKS_DIFFER)
    if rows.exists():
        yield f"it proves the rows of the audit log until {key.retired_at:%Y-%m-%d}"


def _canonical(values: dict[str, Any], previous: bytes) -> bytes:
    canonical = {**values, "previous": previous.hex()}
    return orjson.dumps(canonical, option=orjson.OPT_SORT_KEYS)
