"""Versions of the table of BINs: import one, go back to the one before."""

from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from django.db import connection, transaction
from django.db.models import Case, Value, When

from core import clock
from merchants import audit_log
from payments.installments import bin_files
from payments.installments.bin_files import Problems, Row
from payments.installments.models import BinImport

KEPT = 5
COPY = f"COPY installments_bin (version_id, {', '.join(Row._fields)}) FROM STDIN"
# Two switches at once would both see the same version as the active one.
TAKE_TURNS = "SELECT pg_advisory_xact_lock(hashtextextended('installments.bin_import', 0))"


class BinsRefused(Exception):
    """The file was not taken, and nothing has changed."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(f"{problems.count} bad lines or values; nothing was changed.")
        self.problems = problems


class NothingToUndo(Exception):
    """No version was active before the active one, or it is not kept any more."""


class AnotherIsActive(Exception):
    """Another version became active since the person looked; nothing has changed."""


class Wish(NamedTuple):
    """A person's wish to change the active version.

    :param reason: theirs, for the audit log.
    :param instead_of: the number of the version that they saw as the active one, 0 for none; None
        if they did not look.
    """

    reason: str | None = None
    instead_of: int | None = None

    def require(self, active: BinImport | None) -> None:
        """:raises AnotherIsActive: they saw another one."""
        if self.instead_of is not None and self.instead_of != (active.pk if active else 0):
            raise AnotherIsActive


NO_WISH = Wish()


def import_file(file: BinaryIO, wish: Wish = NO_WISH) -> BinImport:
    """Make a file the whole table, as a new version; the five newest are kept.

    The version becomes active with the commit of all its rows: if the process dies before, the
    earlier one stays active, and nothing of this one is left.

    :param file: opened in binary; it is read once, from its beginning, in flat memory.
    :raises BinsRefused: a line is not right.
    :raises AnotherIsActive: the version is not to replace the one that is active now.
    """
    version = _stored(file, wish)
    _forget_old()
    return version


@transaction.atomic(durable=True)
def undo(wish: Wish = NO_WISH) -> BinImport:
    """Make the version active again that was active before the active one; return it.

    :raises NothingToUndo: there is none.
    :raises AnotherIsActive: another version than the one that is meant is active.
    """
    _take_turns()
    active = BinImport.objects.select_related("replaced").filter(is_active=True).first()
    wish.require(active)
    if active is None or active.replaced is None:
        raise NothingToUndo
    _switch_to(active.replaced)
    _record("bins.undone", active.replaced, active, wish)
    return active.replaced


@transaction.atomic(durable=True)
def _stored(file: BinaryIO, wish: Wish) -> BinImport:
    version = BinImport.objects.create(created_at=clock.now())
    problems = Problems()
    version.row_count = _copied(version, bin_files.rows(file, problems), problems)
    _take_turns()
    version.replaced = BinImport.objects.filter(is_active=True).first()
    wish.require(version.replaced)
    version.save(update_fields=["row_count", "replaced"])
    _switch_to(version)
    _record("bins.imported", version, version.replaced, wish)
    return version


def _copied(version: BinImport, rows: Iterable[Row], problems: Problems) -> int:
    """Write the rows in one stream; return how many there are."""
    count = 0
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for row in rows:
            if not problems.count:
                copy.write_row((version.pk, *row))
                count += 1
        if problems.count:
            raise BinsRefused(problems)
    return count


def _take_turns() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TAKE_TURNS)


def _switch_to(version: BinImport) -> None:
    BinImport.objects.filter(is_active=True).update(is_active=False)
    version.is_active = True
    version.save(update_fields=["is_active"], force_update=True)


def _record(action: str, active: BinImport, instead_of: BinImport | None, wish: Wish) -> None:
    before = {"version": instead_of.pk, "prefixes": instead_of.row_count} if instead_of else None
    after = {"version": active.pk, "prefixes": active.row_count}
    audit_log.record(
        action, merchant=None, subject=str(active.pk), before=before, after=after,
        reason=wish.reason,
    )  # fmt: skip


@transaction.atomic(durable=True)
def _forget_old() -> None:
    """Delete all versions but the active one, the one before it, and the newest of the others.

    In a transaction of its own: deleting a version takes longer than switching to one. Whoever
    goes back to a version at the same time waits for its row.
    """
    active = BinImport.objects.filter(is_active=True).first()
    before = active.replaced_id if active else None
    is_before = Case(When(pk=before, then=Value(0)), default=Value(1))
    others = BinImport.objects.filter(is_active=False).order_by(is_before, "-pk")
    old = list(others.values_list("pk", flat=True)[KEPT - 1 :])
    locked = BinImport.objects.select_for_update().filter(pk__in=old, is_active=False)
    BinImport.objects.filter(pk__in=[version.pk for version in locked]).delete()
