"""Report a backup: `manage.py backup_made [--at MOMENT]`; `manage.py status` shows its age."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from core import context, installation


class Command(BaseCommand):
    help = "Report that a backup of the database was made, for `manage.py status`."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--at",
            type=_moment,
            metavar="2027-03-12T02:30:00+03:00",
            help="when the backup began, with its zone; now by default",
        )

    def handle(self, *_args: Any, at: datetime | None, **_options: Any) -> None:
        with context.work():
            newest = installation.note_backup(at or timezone.now())
        if newest is None:
            raise CommandError("Nothing was written: the moment is to come, or beat never ran.")
        self.stdout.write(f"The newest backup is of {newest.isoformat(timespec='seconds')}.")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError
    return moment
