"""The terminal that a sandbox begins with: the test bank's, with a route for every payment."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection

from core import clock, ids

SANDBOX = "sandbox"
# Other routes come before its own.
LAST = 1000


def add_sandbox_default(sender: AppConfig, *, using: str, **_signal: Any) -> None:
    """Give an installation with the sandbox's acquirer its terminal, after each migration."""
    terminals, routes = sender.get_model("Terminal"), sender.get_model("Route")
    if using != DEFAULT_DB_ALIAS or SANDBOX not in settings.ACQUIRERS:
        return
    if terminals._meta.db_table not in connection.introspection.table_names():
        return  # The migration went backwards.
    if not terminals._base_manager.filter(kind=SANDBOX, merchant=None).exists():
        terminal = terminals._base_manager.create(
            id=ids.new("term"), name=SANDBOX, kind=SANDBOX, created_at=clock.now()
        )
        routes._base_manager.create(terminal=terminal, priority=LAST)
