"""The terminal that a sandbox begins with: the test bank's, for every merchant."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection

from core import clock, ids

SANDBOX = "sandbox"


def add_sandbox_default(sender: AppConfig, *, using: str, **_signal: Any) -> None:
    """Give an installation with the sandbox's acquirer its terminal, after each migration."""
    terminals = sender.get_model("Terminal")
    if using != DEFAULT_DB_ALIAS or SANDBOX not in settings.ACQUIRERS:
        return
    if terminals._meta.db_table not in connection.introspection.table_names():
        return  # The migration went backwards.
    if not terminals._base_manager.filter(kind=SANDBOX, merchant=None).exists():
        terminals._base_manager.create(
            id=ids.new("term"), name=SANDBOX, kind=SANDBOX, created_at=clock.now()
        )
