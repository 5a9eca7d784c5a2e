"""The one door through which statuses change: a table lists the changes, and the event of each.

Payments, attempts and what else has a status bind a table of their own (spec: States and
transitions). The database's triggers know the same pairs, and docs/reference/states.md is made from
the tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db.models import Model

from core.metrics import Counter, Label
from core.registry import Registry
from events import outbox

MOVED = Counter(
    "pay_status_changes_total",
    "Changes of status that were committed.",
    object=Label(),
    before=Label(),
    after=Label(),
)


class UnlistedTransition(Exception):
    """A bug: the code asked for a change of status that the table does not list."""


class StatusChange(NamedTuple):
    """One allowed change of a status.

    :param event: the type of its event; None if it has none.
    :param cause: a sentence for merchants, in docs/reference/states.md.
    """

    before: str
    after: str
    event: str | None
    cause: str


@dataclass(frozen=True, slots=True)
class Table:
    """Every allowed change of one kind of object.

    :param noun: the object, as a sentence names it: "payment".
    :param model: the model's label, such as `intents.PaymentIntent`.
    :param beginnings: the statuses that an object may be created with.
    :param meanings: a sentence for each status, for docs/reference/states.md; may be left out.
    """

    noun: str
    model: str
    beginnings: tuple[str, ...]
    changes: tuple[StatusChange, ...]
    meanings: Mapping[str, str] = field(default_factory=dict)

    def event_of(self, before: str, after: str) -> str | None:
        """Return the event of a change.

        :raises UnlistedTransition: the table has no such pair.
        """
        for listed in self.changes:
            if (listed.before, listed.after) == (before, after):
                return listed.event
        raise UnlistedTransition(f"{self.noun}: {before} → {after}")

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return all pairs of statuses, without their events."""
        return frozenset((listed.before, listed.after) for listed in self.changes)


# By their nouns.
TABLES: Registry[Table] = Registry("table of transitions")


def register(*tables: Table) -> None:
    """Add tables; called in `AppConfig.ready()`."""
    for table in tables:
        TABLES.add(table.noun, table)


def change(row: Any, status: str, *, table: Table) -> str | None:
    """Give a locked row its next status, in memory; the caller saves it and records the event.

    :returns: the event of the change, None if it has none.
    :raises UnlistedTransition: the table has no such pair.
    """
    event = table.event_of(row.status, status)
    row.status = status
    return event


@dataclass(frozen=True, slots=True)
class Door:
    """The door of objects with events: their table of changes, and how events show them.

    :param write: saves a row that is there; the rows of every payment have a faster way.
    :param follow: is called with a move after its event: the row, its rendered before and the
        request; what it writes commits with the move or not at all.
    :param followed: the field whose rows are followed, while it is not null.
    """

    table: Table
    render: Callable[[Any], dict[str, Any]]
    write: Callable[[Any], None] = Model.save
    follow: Callable[[Any, dict[str, Any], str], None] | None = None
    followed: str = "pk"

    def move(
        self,
        row: Any,
        status: str,
        before: dict[str, Any],
        *,
        request_id: str,
        answer: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Save a row with its next status, and record its event, in the caller's transaction.

        :param before: the row as `render` showed it right after it was locked; the event carries
            the differences as `previous_attributes`.
        :param request_id: the request that the event names as its cause: the one that began the
            work which ends now, often not the current one.
        :param answer: is given the row as its event shows it, once it is saved. Before the event:
            what plans the deliveries is a transaction's last statement. A followed row is given
            once it was followed, for its follower may move it again.
        :raises UnlistedTransition: the table has no such pair.
        """
        came_from = str(row.status)
        event = change(row, status, table=self.table)
        MOVED.count_after_commit(self.table.noun, came_from, str(status))
        self.write(row)
        body = self.render(row)
        follow = None if getattr(row, self.followed) is None else self.follow
        if answer is not None and follow is None:
            answer(body)
        if event is not None:
            outbox.record(row.merchant, event, body, before, request_id=request_id)
        if follow is not None:
            follow(row, before, request_id)
            if answer is not None:
                answer(self.render(row))
