"""Terminals added and changed, and their credentials, which only their own adapter opens."""

import json
from collections.abc import Mapping

import structlog
from django.db import transaction

from acquirers.models import Terminal
from core import clock, ids
from core.keyring import SealBroken, UnknownKey, ring
from merchants import audit_log
from merchants.models import Merchant

log = structlog.get_logger(__name__)


class CredentialsUnreadable(Exception):
    """The terminal's row was changed, or its key is not in the key ring."""


@transaction.atomic
def add(
    name: str,
    *,
    kind: str,
    credentials: Mapping[str, str] | None = None,
    merchant: Merchant | None = None,
) -> Terminal:
    """Write a terminal down, enabled."""
    terminal = Terminal(
        id=ids.new("term"), name=name, kind=kind, merchant=merchant, created_at=clock.now()
    )
    terminal.sealed = _sealed(terminal, credentials)
    terminal.save(force_insert=True)
    after = {"name": name, "kind": kind}
    audit_log.record("terminal.added", merchant=merchant, subject=terminal.id, after=after)
    return terminal


@transaction.atomic
def replace_credentials(terminal: Terminal, credentials: Mapping[str, str]) -> None:
    """Replace the credentials whole; every process uses the new ones with its next call."""
    terminal.sealed = _sealed(terminal, credentials)
    terminal.save(update_fields=["sealed"])
    # The names of the fields, and no value.
    after = {"fields": sorted(credentials)}
    audit_log.record(
        "terminal.credentials_replaced",
        merchant=terminal.merchant, subject=terminal.id, after=after,
    )  # fmt: skip


def credentials_of(terminal: Terminal) -> dict[str, str]:
    """Return the terminal's credentials, empty if it needs none. Only its adapter asks for them.

    :raises CredentialsUnreadable: an operator has to look into it; nothing can be asked meanwhile.
    """
    if terminal.sealed is None:
        return {}
    try:
        return json.loads(ring().open(bytes(terminal.sealed), context=terminal.seal_context))
    except (SealBroken, UnknownKey) as problem:
        log.error("terminal_credentials_unreadable", terminal=terminal.name)
        raise CredentialsUnreadable(terminal.name) from problem


def _sealed(terminal: Terminal, credentials: Mapping[str, str] | None) -> bytes | None:
    if credentials is None:
        return None
    content = json.dumps(dict(credentials)).encode()
    return ring().seal(content, context=terminal.seal_context)
