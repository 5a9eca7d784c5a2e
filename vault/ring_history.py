"""The key ring compared with the audit log: an earlier copy of it, put in its place, is refused.

The code over the file proves that the file is ours, not that it is the newest. The audit log has
each step with each key, in a chain that shows tampering (`merchants.audit_log`).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.apps import apps
from django.utils import timezone

from core.keyring import KeyRing, KeyRingError

# The chain of `merchants.audit_log.INSTALLATION`: not imported, as Celery's application is loaded
# before Django's models are.
CHAIN = "installation"
STEPS = ("key_added", "key_promoted", "key_retired", "key_purged", "key_put_back")
# So long the file may take to each host after a purge: one of before has the key, and harms little.
ON_ITS_WAY = timedelta(days=1)


class LastStep(NamedTuple):
    """The last step with a key that the audit log has."""

    name: str
    at: datetime


def require_current(ring: KeyRing, where: str) -> None:
    """Refuse a key ring that is older than steps of the audit log.

    One statement. A step that a host may learn of later, as its file is brought to it, is none.

    :param where: the beginning of a sentence: which file it is, on which host.
    :raises KeyRingError: it is older.
    """
    if faults := [f"{where} {fault}" for fault in _faults(ring)]:
        raise KeyRingError("\n".join(faults))


def _faults(ring: KeyRing) -> Iterator[str]:
    in_use, last = {ring.primary, *ring.primaries.values()}, _last_steps()
    for key, step in sorted(last.items()):
        if step.name == "key_promoted" and key not in ring.held:
            yield (
                f"lacks {key}, which was made primary on {_day(step)}: it is an earlier copy. Put "
                f"the newest in its place. If there is none: `manage.py keyring give-up {key}`."
            )
        elif key in in_use and step.name in ("key_retired", "key_purged"):
            yield (
                f"seals with {key}, which was {step.name[4:]} on {_day(step)}: it is an earlier "
                "copy. Put the newest in its place, or make the steps again: promote another key."
            )
        elif key in ring.held and step.name == "key_purged" and _is_old(step):
            yield (
                f"has {key}, which was purged on {_day(step)}: it is an earlier copy. Put the "
                f"newest in its place, or `manage.py keyring purge {key}` again."
            )


def _last_steps() -> dict[str, LastStep]:
    actions = [f"key_ring.{step}" for step in STEPS]
    entries = apps.get_model("merchants", "AuditEntry")._default_manager
    rows = entries.filter(chain=CHAIN, action__in=actions)
    known = rows.order_by("sequence").values_list("subject", "action", "created_at")
    return {key: LastStep(action.partition(".")[2], at) for key, action, at in known}


def _is_old(step: LastStep) -> bool:
    return step.at < timezone.now() - ON_ITS_WAY


def _day(step: LastStep) -> str:
    return f"{step.at:%Y-%m-%d}"
