"""Show the public holidays of a country, add one, or take one away."""

from datetime import date, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from api.commands import AuditedCommand
from core import clock
from ledger import calendar, calendar_changes


class Command(AuditedCommand):
    help = "Show the public holidays by which money is due, add one, or remove one."
    permission = "ledger.change_holidaychange"
    reading = frozenset({"show"})

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        shown = steps.add_parser("show", help="the weekdays of a year that are no business days")
        shown.add_argument("country", type=_country, help="two letters, such as TR")
        shown.add_argument("year", type=_year, nargs="?", help="this one, if none is given")
        for step in ("add", "remove"):
            changed = steps.add_parser(step, help=f"{step} a holiday, for captures from now on")
            changed.add_argument("country", type=_country, help="two letters, such as TR")
            changed.add_argument("date", type=date.fromisoformat, help="2026-10-29")
            changed.add_argument("--reason", required=True, help="for the audit log")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["step"] == "show":
            self._show(options["country"], options["year"] or clock.now().year)
            return
        if len(options["reason"]) > calendar_changes.REASON_MAX:
            raise CommandError(f"A reason has {calendar_changes.REASON_MAX} characters at most.")
        row = calendar_changes.change(
            options["country"],
            options["date"],
            is_holiday=options["step"] == "add",
            reason=options["reason"],
        )
        self.stdout.write(str(row))

    def _show(self, country: str, year: int) -> None:
        days = (date(year, 1, 1) + timedelta(days=count) for count in range(366))
        business = calendar.of(country)
        for day in days:
            is_weekday = day.year == year and day.weekday() < calendar.SATURDAY
            if is_weekday and not business.is_business_day(day):
                self.stdout.write(f"{day:%Y-%m-%d %A}")


def _country(text: str) -> str:
    if not (len(text) == 2 and text.isascii() and text.isalpha()):
        raise ValueError("two letters")
    return text.upper()


def _year(text: str) -> int:
    year = int(text)
    if not 2000 <= year <= 2200:
        raise ValueError("a year of this calendar")
    return year
