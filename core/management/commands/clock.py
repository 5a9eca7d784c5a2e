import re
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core import clock

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
SPAN = re.compile(r"(?:[0-9]{1,6}[smhd])+")
PART = re.compile(r"([0-9]+)([smhd])")


class Command(BaseCommand):
    help = "Show the sandbox's clock, or move it forward: due times and expiries come nearer."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("show", help="print the service's now and how far it is ahead")
        advance = actions.add_parser("advance", help="move the clock forward, for good")
        advance.add_argument("span", help="such as 90s, 5m, 6h, 7d or 1d12h")

    def handle(self, *_args: Any, **options: Any) -> None:
        if settings.LIVEMODE:
            raise CommandError("The clock of a live installation does not move.")
        if options["action"] == "advance":
            _advance(timedelta(seconds=_seconds(options["span"])))
        ahead = timedelta(seconds=round(clock.offset_seconds()))
        self.stdout.write(f"{clock.now():%Y-%m-%d %H:%M:%S} UTC, {ahead} ahead of real time")


def _advance(span: timedelta) -> None:
    try:
        clock.advance(span)
    except ValueError as refusal:
        raise CommandError(f"Nothing was moved: {refusal}.") from refusal


def _seconds(span: str) -> int:
    if not SPAN.fullmatch(span):
        raise CommandError("Say how far as 90s, 5m, 6h, 7d or 1d12h; the clock only moves forward.")
    return sum(int(count) * UNIT_SECONDS[unit] for count, unit in PART.findall(span))
