"""Show tampering: with the audit log, and with the ledger and the events of days that are over."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from api.commands import JobCommand
from audit.daily import digests
from merchants import audit_chains, audit_tallies
from merchants.audit_chains import Head, Problem


class Command(JobCommand):
    help = (
        "Walk every chain of the audit log, and the digests of the ledger's and the events' days;"
        " print the heads, and on the error output what was tampered with. Exit 1 on any problem"
        " (docs/operate/audit-log.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--heads",
            type=Path,
            metavar="FILE",
            help="heads of an earlier day: this command's output, or the service's log",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        audit_tallies.note_reading(audit_tallies.VERIFIED)
        of_days: list[Head] = []
        with ExitStack() as stack:
            lines = _opened(options["heads"], stack) if options["heads"] else ()
            older = _without_days(audit_chains.read_heads(lines), of_days)
            walked = audit_chains.verify(tell=self._tell, show=self._show, older=older)
        days = digests.verify(tell=self._tell, show=self._show, older=of_days)
        compared = walked.compared + len(of_days)
        if options["heads"] and not compared:
            raise CommandError(f"There are no heads in {options['heads']}.")
        problems = walked.problems + days.problems
        self.stderr.write(
            f"{walked.rows} rows in {walked.chains} chains, {days.rows} rows in {days.days} days,"
            f" {compared} older heads compared: {problems} problems"
        )
        if problems:
            sys.exit(1)

    def _tell(self, problem: Problem) -> None:
        self.stderr.write(f"PROBLEM  {problem}")

    def _show(self, head: Head) -> None:
        self.stdout.write(head.as_json())


def _without_days(heads: Any, of_days: list[Head]) -> Any:
    """Yield the heads of the audit log, and put those of days aside."""
    for head in heads:
        if head.chain.startswith(digests.CHAIN):
            of_days.append(head)
        else:
            yield head


def _opened(path: Path, stack: ExitStack) -> Any:
    try:
        return stack.enter_context(path.open(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise CommandError(f"Cannot read {path} ({error.strerror}).") from error
