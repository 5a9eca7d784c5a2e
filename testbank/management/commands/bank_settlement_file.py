"""Write the test bank's settlement file of a day: `manage.py bank_settlement_file --date D`."""

import sys
from argparse import ArgumentTypeError
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core import context
from testbank import settlement_files


class Command(BaseCommand):
    help = "Write the bank's settlement file of one of its days, which end at midnight in Istanbul."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--date", required=True, type=_day, help="the bank's day: YYYY-MM-DD")
        parser.add_argument("--out", type=Path, help="the file to write; default: the output")
        parser.add_argument("--terminal", help="a number at the NestPay doors: its bookings alone")
        parser.add_argument(
            "--wrong", choices=settlement_files.ALTERATIONS, help="plant one difference of a kind"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        path, day = options["out"], options["date"]
        choices = {name: options[name] for name in ("wrong", "terminal")}
        try:
            with context.work(), self._opened(path) as out:
                count = settlement_files.write(day, out, **choices)
        except settlement_files.NothingToAlter:
            raise CommandError(f"No money moved on {day}: there is no line to alter.") from None
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        if path:
            self.stdout.write(f"{path}: {count} lines of {day}")

    def _opened(self, path: Path | None) -> Any:
        if path:
            return path.open("w", encoding="utf-8", newline="")
        # Django's own output adds line ends; this one is a file's.
        return nullcontext(getattr(self.stdout, "_out", sys.stdout))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("a day is written YYYY-MM-DD") from None
