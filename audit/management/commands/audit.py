import sys
from typing import Any

from django.core.management.base import CommandError

from acquirers.gateway import StatementUnreadable
from api.commands import JobCommand
from audit import contradictions, report
from audit.findings import Findings
from core import context


class Command(JobCommand):
    help = "Compare ledger, payments, lists, events and the bank's book; exit 1 on any difference."

    def handle(self, *_args: Any, **_options: Any) -> None:
        try:
            with context.work():
                made = report.run()
                contradictions.note(made)
        except StatementUnreadable as error:
            raise CommandError(f"{error} Is the bank reachable? Nothing is proved.") from error
        for found in made.findings:
            self._tell(found)
        if not made.is_clean:
            sys.exit(1)

    def _tell(self, found: Findings) -> None:
        verdict = f"{len(found.differences)} different" if found.differences else "ok"
        self.stdout.write(f"{found.name}: {found.looked_at} looked at, {verdict}")
        for sentence in found.differences:
            self.stdout.write(f"  DIFFERENT  {sentence}")
        for sentence in found.unknown:
            self.stdout.write(f"  UNKNOWN    {sentence}")
        if found.decided:
            self.stdout.write(f"decided by a person: {len(found.decided)} that the bank has not")
        for sentence in found.decided:
            self.stdout.write(f"  DECIDED    {sentence}")
