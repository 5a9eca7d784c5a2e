"""Downloads: rows as a CSV file that is streamed, once its row of the audit log is written.

Each page of rows is a short question of its own, and while a slow client reads the database's
connection belongs to others. No file is kept.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import sleep
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.http import HttpResponse, StreamingHttpResponse

from core import connections, csv_rows, redis
from merchants import audit_log
from merchants.models import Member
from panel.merchants import csv_forms
from panel.merchants.csv_forms import CsvForm
from panel.patience import limited

# More than a page of the panel has: an export that gave up in the middle would be begun again.
PAGE_MS = 10_000
ROWS_IN_A_BREATH, BREATH_SECONDS = 5, 0.0002
Row = Sequence[Any]
CsvPage = Sequence[Row]


# Real time. Each page of rows renews a person's turn to export, which is a key on Redis: it ends by
# itself, so a process that dies keeps nobody out for long.
TURN_SECONDS: Final = 60
# Only one's own turn is ended: a slow one may have lost it to another.
END = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class AnotherIsRunning(Exception):
    """The person has a turn already."""


class TurnsAway(Exception):
    """Redis does not answer, so it is not known whether the person has a turn."""


class Turn:
    """One person's turn to export: one at a time, whichever process answers it."""

    def __init__(self, user_id: int) -> None:
        """Begin the turn.

        :raises AnotherIsRunning: the person has a turn already.
        :raises TurnsAway: Redis does not answer.
        """
        self.name = f"export:{user_id}"
        self.token = secrets.token_urlsafe(16)
        try:
            is_mine = redis.call(
                lambda client: client.set(self.name, self.token, nx=True, ex=TURN_SECONDS)
            )
        except redis.Away:
            raise TurnsAway from None
        if not is_mine:
            raise AnotherIsRunning

    def renew(self) -> None:
        """Give the turn its time again.

        :raises AnotherIsRunning: it had ended, for nothing was asked of it for too long.
        """
        with suppress(redis.Away):  # An export that has begun goes on.
            held: Any = redis.call(lambda client: client.getex(self.name, ex=TURN_SECONDS))
            if held is None or held.decode() != self.token:
                raise AnotherIsRunning

    def end(self) -> None:
        with suppress(redis.Away):  # Then it ends by itself.
            redis.call(lambda client: client.eval(END, 1, self.name, self.token))


class CsvFile(NamedTuple):
    """A file that a person is sent.

    :param columns: the API's names; `header` and rows are written in the form of the file.
    :param pages: of rows for programs, each asked of the database when it is wanted.
    :param zone: of the merchant, in which people read moments.
    :param subject: of the row in the audit log; `kept` is what the row says of it.
    """

    name: str
    columns: Sequence[str]
    pages: Iterator[CsvPage]
    subject: str
    kept: Mapping[str, Any]
    form: CsvForm = csv_forms.PROGRAMS
    zone: str = "UTC"


def breathing(cells: Iterable[Row]) -> Iterator[Row]:
    """Let payments that the same process answers go on between rows.

    Python changes to another thread after 5 ms of computing; a payment, which waits for the
    database twenty times, would wait so long behind each.
    """
    for number, row in enumerate(cells):
        if number % ROWS_IN_A_BREATH == 0:
            sleep(BREATH_SECONDS)
        yield row


def answer(member: Member, file: CsvFile) -> HttpResponse:
    """Answer a file, once its row of the audit log is written.

    :raises AnotherIsRunning: the person's last export has not ended.
    :raises TurnsAway: it is not known whether it has.
    """
    turn = Turn(member.user_id)
    try:
        _record(member, file)
    except BaseException:
        turn.end()
        raise
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    # Of Any: a page's answer is an HttpResponse, of which this is a cousin.
    streamed: Any = StreamingHttpResponse(
        Download(file, turn), content_type=csv_rows.CONTENT_TYPE, headers=headers
    )
    return streamed


@transaction.atomic(durable=True)
def _record(member: Member, file: CsvFile) -> None:
    audit_log.record("export.made", merchant=member.merchant, subject=file.subject, after=file.kept)


class Download:
    """The pieces of a file; closed when all are sent, or when the client is gone."""

    def __init__(self, file: CsvFile, turn: Turn) -> None:
        self.turn = turn
        header = csv_forms.header(file.form, file.columns)
        written = csv_forms.writer(file.form, file.columns, file.zone)
        rows = map(written, _rows(file.pages, turn))
        self.pieces = csv_rows.pieces(header, rows, delimiter=file.form.delimiter)

    def __iter__(self) -> Iterator[bytes]:
        return self.pieces

    def close(self) -> None:
        # A generator that was never begun would not end the turn itself.
        self.pieces.close()  # type: ignore[attr-defined]
        self.turn.end()


def _rows(pages: Iterator[CsvPage], turn: Turn) -> Iterator[Sequence[Any]]:
    """Return all rows, page by page.

    :raises TookTooLong: a page was not found in time; the client sees that the file is cut off.
    :raises AnotherIsRunning: the client was so slow that the turn was lost to another export.
    """
    has_more = True
    while has_more:
        with limited(PAGE_MS):
            rows = next(pages, None)
        connections.give_back()
        turn.renew()
        yield from rows or ()
        has_more = rows is not None
