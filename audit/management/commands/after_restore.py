"""Compare a restored copy with the banks, and open it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import connections
from psycopg import Connection, connect

from acquirers.gateway import StatementUnreadable
from api.commands import AuditedCommand
from audit import reopening, restored
from audit.restored import Comparison
from cases.cases import RESOLVE, fit_reason
from cases.refusals import ReasonUnfit
from core import installation, marks

# Of PostgreSQL's advisory locks; no other work takes one of this number.
LOCK = 4_801


class Command(AuditedCommand):
    help = "Compare a restored copy of the database with the banks (compare), and open it (open)."
    permission = RESOLVE

    def add_arguments(self, parser: CommandParser) -> None:
        steps = parser.add_subparsers(dest="step", required=True)
        steps.add_parser("compare", help="close doors, move numbers, compare; may be repeated")
        opening = steps.add_parser("open", help="compare once more, then take payments again")
        opening.add_argument("--reason", required=True, help="10 to 1000 characters, for the log")
        opening.add_argument(
            "--nothing-lost",
            action="store_true",
            help="behind a planned move: compare nothing, if the mark of beat's end is here",
        )
        steps.add_parser("mail", help="mail the merchants once more, if open died before it did")

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["step"] == "mail":
            self._mail()
            return
        reason = _fit(options["reason"]) if options["step"] == "open" else None
        with _alone() as raw:
            held = installation.held_since()
            if held is None:
                raise CommandError(f"This database is not held: {_why_not()}.")
            held_at, why = held
            if reason and options["nothing_lost"]:
                self._open_moved(raw, held_at, why, reason)
                return
            copy_is_of = installation.newest_mark_before(held_at)
            self.stdout.write(f"held since {held_at:%Y-%m-%d %H:%M:%S} UTC: {why}")
            if copy_is_of:
                self.stdout.write(f"the copy's last mark is of {copy_is_of:%Y-%m-%d %H:%M:%S} UTC")
            made = self._compared(held_at)
            if reason is None:
                self.stdout.write("held still: manage.py after_restore open --reason … opens it")
                return
            reopening.open_installation(made, copy_is_of=copy_is_of, held_at=held_at, reason=reason)
            self.stdout.write("open")
            self._mail()

    def _open_moved(self, raw: Connection, held_at: datetime, why: str, reason: str) -> None:
        if why != installation.MOVED or not marks.proves_that_nothing_is_lost(raw):
            raise CommandError(
                "Nothing proves that this database has everything: MARK_FILE lacks the mark of "
                "beat's end, or the database does. beat has to end last of all processes, and none "
                "may start before this command. Run: manage.py after_restore compare."
            )
        try:
            reopening.open_moved(held_at=held_at, reason=reason)
        except ImproperlyConfigured as problem:
            raise CommandError(f"{problem} It stays held.") from problem
        self.stdout.write("open: the mark of beat's end is here, nothing was compared")

    def _mail(self) -> None:
        told = reopening.tell_merchants()
        if told is None:
            raise CommandError("No restored copy was ever opened here: there is nothing to mail.")
        self.stdout.write(f"a mail went to the owners of {told} merchants")

    def _compared(self, held_at: datetime) -> Comparison:
        moved = restored.move_numbers(held_at)
        self.stdout.write(f"numbers of events moved: {moved} objects")
        for noun, count in restored.close_doors().items():
            self.stdout.write(f"{noun} ended: {count}")
        try:
            made = restored.compare()
        except StatementUnreadable as error:
            raise CommandError(f"{error} Is the bank reachable? It stays held.") from error
        self.stdout.write(f"payments and payouts compared: {made.looked_at}")
        for label, sentences in (
            ("LOST", made.lost), ("ADOPTED", made.adopted),
            ("DIFFERENT", made.contradicted), ("UNPROVED", made.unproved),
        ):  # fmt: skip
            for sentence in sentences:
                self.stdout.write(f"  {label:<10} {sentence}")
        return made


def _why_not() -> str:
    if reopening.openings():
        return "it was opened. If its mails did not go out: manage.py after_restore mail"
    return "it is the installation's own"


def _fit(reason: str) -> str:
    try:
        return fit_reason(reason)
    except ReasonUnfit as refusal:
        raise CommandError(refusal.text) from refusal


@contextmanager
def _alone() -> Iterator[Connection]:
    """Let one run work at a time; the server frees the lock of one that was killed."""
    params = connections["default"].get_connection_params()
    own = {"application_name": "after_restore", "autocommit": False}
    with connect(**{**params, **own}) as raw:
        raw.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        [is_ours] = raw.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK]).fetchone() or [0]
        if not is_ours:
            raise CommandError("Another after_restore is at work: wait for its end.")
        yield raw
