"""The base of commands that change things: the audit log names the command and who ran it."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand

from api import request_logs
from core import context
from core.context import ActorKind


class AuditedCommand(BaseCommand):
    """A command that runs as a piece of work of its own.

    Its `req_` id is in the request logs if it records an event, and in the audit log.
    """

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run the command in its own name, and in that of the machine's user who typed it."""
        name = type(self).__module__.rpartition(".")[2]
        with context.work():
            context.act_as(ActorKind.COMMAND, name, _login_name())
            with request_logs.job(f"manage.py {name}"):
                return super().execute(*args, **options)


def _login_name() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None  # A container's user may have no name.
