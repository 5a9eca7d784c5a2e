"""Replace the table of BINs by a file, or go back to the one before."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from api.commands import AuditedCommand
from payments.installments import bin_imports
from payments.installments.bin_imports import BinsRefused, NothingToUndo


class Command(AuditedCommand):
    help = "Replace the table of BINs (card prefixes) by a CSV file, or undo the last import."
    permission = "installments.import_bins"
    # A bank's new table may come by a timer.
    is_for_jobs = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("file", nargs="?", type=Path, help="UTF-8, with a header")
        what.add_argument("--undo", action="store_true", help="go back to the version before")

    def handle(self, *_args: Any, file: Path | None, undo: bool, **_options: Any) -> None:
        if undo:
            self._undo()
        elif file:
            self._import(file)

    def _import(self, file: Path) -> None:
        try:
            with file.open("rb") as opened:
                version = bin_imports.import_file(opened)
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error.strerror}.") from error
        except BinsRefused as refusal:
            for problem in refusal.problems.first:
                self.stderr.write(str(problem))
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"{version} is active, with {version.row_count} prefixes.")

    def _undo(self) -> None:
        try:
            version = bin_imports.undo()
        except NothingToUndo as refusal:
            raise CommandError("There is no version to go back to.") from refusal
        self.stdout.write(f"{version} is active again, with {version.row_count} prefixes.")
