"""The kinds of rows that the sweeper asks banks about, and the slots of each (architecture 3a)."""

from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.utils.module_loading import import_string

from acquirers.in_doubt.models import InDoubt
from acquirers.outcomes import Outcome

Row = TypeVar("Row", bound=InDoubt)


class Kind(Generic[Row]):
    """One kind of rows; `settings.IN_DOUBT` names it, with the rows that are asked about at once.

    A kind's slots are its own: rows of one kind that wait for a silent bank delay no other kind.
    """

    model: ClassVar[type[InDoubt]]

    def begun(self, row: Row) -> Row | None:
        """Write down what has to be before the bank is asked, and return the row to ask about.

        :returns: None if there is nothing to ask now.
        """
        return row

    def ask(self, row: Row) -> Outcome:
        """Ask the bank how the row ended; the caller holds its lease, and no transaction is open.

        It may be called in another thread, so it opens no transaction itself.
        """
        raise NotImplementedError

    def resolve(self, row: Row, outcome: Outcome) -> Any:
        """Apply the bank's answer, in a transaction of its own."""
        raise NotImplementedError


def all_kinds() -> dict[Kind[Any], int]:
    """Return the kinds that the settings name, each with its slots."""
    return {_kind(path): slots for path, slots in settings.IN_DOUBT.items()}


@cache
def _kind(path: str) -> Kind[Any]:
    kind: Kind[Any] = import_string(path)()
    return kind
