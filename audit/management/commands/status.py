"""Show how the installation stands: `manage.py status`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from audit import standing
from core import context


class Command(BaseCommand):
    help = "Show processes, rounds of work, and what waits; exit 1 if a person has to look."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        with context.work():
            lines = list(standing.lines())
        for line in lines:
            self.stdout.write(f"{'WRONG' if line.is_wrong else 'ok':5}  {line.part}: {line.text}")
        if any(line.is_wrong for line in lines):
            sys.exit(1)
