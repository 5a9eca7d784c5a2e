import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from merchants import audit_chains
from merchants.audit_chains import Head, Problem


class Command(BaseCommand):
    help = (
        "Walk every chain of the audit log; print the heads, and on the error output what was"
        " tampered with. Exit 1 on any problem (docs/operate/audit-log.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--heads",
            type=Path,
            metavar="FILE",
            help="heads of an earlier day: this command's output, or the service's log",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        with ExitStack() as stack:
            lines = _opened(options["heads"], stack) if options["heads"] else ()
            walked = audit_chains.verify(
                tell=self._tell, show=self._show, older=audit_chains.read_heads(lines)
            )
        if options["heads"] and not walked.compared:
            raise CommandError(f"There are no heads in {options['heads']}.")
        self.stderr.write(
            f"{walked.rows} rows in {walked.chains} chains, {walked.compared} older heads"
            f" compared: {walked.problems} problems"
        )
        if walked.problems:
            sys.exit(1)

    def _tell(self, problem: Problem) -> None:
        self.stderr.write(f"PROBLEM  {problem}")

    def _show(self, head: Head) -> None:
        self.stdout.write(head.as_json())


def _opened(path: Path, stack: ExitStack) -> Any:
    try:
        return stack.enter_context(path.open(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise CommandError(f"Cannot read {path} ({error.strerror}).") from error
