import sys
from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from acquirers.gateway import StatementUnreadable
from api.commands import JobCommand
from audit.asked import Pace
from audit.daily import jobs
from audit.findings import Findings


class Command(JobCommand):
    help = (
        "Compare ledger, payments, lists, events and the banks' books; exit 1 on any difference,"
        " or if no bank has vouched for an attempt that is older than the window."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        pace = Pace()
        parser.add_argument(
            "--window", type=_above_zero, default=pace.window.days, metavar="DAYS",
            help="a bank without a statement is asked about attempts of so many days",
        )  # fmt: skip
        parser.add_argument(
            "--rate", type=_above_zero, default=pace.per_second, metavar="PER_SECOND",
            help="how many attempts it is asked about in a second",
        )  # fmt: skip

    def handle(self, *_args: Any, **options: Any) -> None:
        pace = Pace(timedelta(days=options["window"]), options["rate"])
        try:
            made = jobs.audited(pace)
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
        for sentence in found.unvouched:
            self.stdout.write(f"  UNVOUCHED  {sentence}")
        if found.decided:
            self.stdout.write(f"decided by a person: {len(found.decided)} that the bank has not")
        for sentence in found.decided:
            self.stdout.write(f"  DECIDED    {sentence}")


def _above_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 10_000:
        raise ArgumentTypeError("a number above 0, at most 10000")
    return number
