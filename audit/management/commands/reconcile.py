"""Compare a bank's settlement file with our books: `manage.py reconcile FILE`."""

import sys
from argparse import ArgumentTypeError
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from acquirers import settlement
from acquirers.models import Terminal
from api.commands import JobCommand
from audit.daily import runs
from audit.reconciliation import reading
from audit.reconciliation.models import Difference
from audit.reconciliation.reading import NAMED, Reading
from core import context
from core.errors import NotSetUp

# Nothing was compared.
REFUSED = 2


class Command(JobCommand):
    help = (
        "Compare a bank's settlement file with our books; exit 1 if a case of reconciliation is"
        " open or a line cannot be read, 2 if nothing was compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="CSV, see docs/operate/reconciliation.md")
        parser.add_argument("--terminal", metavar="NAME", help="whose bookings alone the file has")
        parser.add_argument(
            "--day", action="append", default=[], type=_day, metavar="YYYY-MM-DD",
            help="a day that the file speaks for even if it has no line of it",
        )  # fmt: skip

    def handle(self, *_args: Any, **options: Any) -> None:
        path, terminal = options["file"], _terminal(options["terminal"])
        try:
            with context.work(), path.open("rb") as file:
                made = runs.reconciled(file, days=options["day"], terminal=terminal)
        except OSError as error:
            raise _refused(f"{path.name} cannot be read: {error.strerror}.") from error
        except (NotSetUp, reading.NotSpoken):
            raise _refused("Nothing was compared: no reader knows files of this kind.") from None
        except settlement.NotASettlementFile:
            columns = ",".join(settlement.COLUMNS)
            raise _refused(f"Nothing was compared: the first line must be {columns}.") from None
        except runs.DayToCome as day:
            raise _refused(f"Nothing was compared: {day} has not begun.") from None
        except reading.OfNoDay:
            told = "Nothing was compared: the file has no line: name its day with --day."
            raise _refused(told) from None
        except reading.BeingRead:
            raise _refused("Nothing was compared: another reading is under way.") from None
        self._tell(made)
        if made.unread or self._tell_open():
            sys.exit(1)

    def _tell(self, made: Reading) -> None:
        for number, reason in made.unreadable:
            self.stdout.write(f"  UNREADABLE line {number}: {reason}")
        if made.unread > NAMED:
            self.stdout.write(f"  UNREADABLE and {made.unread - NAMED} more")
        days = ", ".join(map(str, made.days)) or "no day"
        self.stdout.write(
            f"{made.lines} lines of {days} compared, {made.unread} not:"
            f" {made.opened} cases opened, {made.closed} closed"
        )

    def _tell_open(self) -> int:
        """List the oldest open cases; return the number of all."""
        rows = Difference.objects.filter(closed_at=None)
        for one in rows.order_by("opened_at", "id")[:NAMED]:
            self.stdout.write(f"  OPEN       {one.id} {one}: bank {one.bank}, ours {one.ours}")
        count = rows.count()
        self.stdout.write(f"{count} cases of reconciliation are open")
        return count


def _terminal(name: str | None) -> Terminal | None:
    if name is None:
        return None
    found = Terminal.objects.filter(name=name).first()
    if found is None:
        raise _refused("Nothing was compared: there is no terminal of that name.")
    return found


def _refused(sentence: str) -> CommandError:
    return CommandError(sentence, returncode=REFUSED)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("a day is written YYYY-MM-DD") from None
