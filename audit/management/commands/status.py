"""Show how the installation stands: `manage.py status`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from audit import standing
from core import context


class Command(BaseCommand):
    help = "Show processes, rounds of work, and what waits; exit 1 if a person has to look."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all", action="store_true", help="each process and each task's last round, too"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        with context.work():
            lines = list(standing.lines())
            details = list(standing.details()) if options["all"] else []
        for line in lines:
            self.stdout.write(f"{'WRONG' if line.is_wrong else 'ok':5}  {line.part}: {line.text}")
        for detail in details:
            self.stdout.write(f"{'':5}  {detail.part}: {detail.text}")
        if any(line.is_wrong for line in lines):
            sys.exit(1)
