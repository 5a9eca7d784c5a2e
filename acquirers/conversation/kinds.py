"""The kinds of rows whose end a bank decides, and what each says of its rows (architecture 3a)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet

from acquirers.conversation import schedule
from acquirers.conversation.models import InDoubt
from acquirers.exchanges import Spoken
from acquirers.outcomes import NEVER_SENT, Answer, Outcome
from core import clock
from core.registry import Registry
from events.transitions import Door

Row = TypeVar("Row", bound=InDoubt)


class Facts(NamedTuple, Generic[Row]):
    """A locked row, and all that `settling` has to know of it.

    In one value instead of a method for each: a payment passes between the modules less often.

    :param subject: the object whose status moves: the payment, or the row itself.
    :param spoken: the request that the exchanges are written down for; None if they are not.
    :param known: the answer; UNKNOWN in place of a "no record" that is not to be believed yet.
    :param is_open: its end is not known, and the answer is about what the row is now.
    :param is_followed: another row goes on with the work of the request that began this one.
    """

    row: Row
    subject: Any
    spoken: Spoken | None
    known: Outcome
    is_open: bool
    is_followed: bool = False


class Said(NamedTuple, Generic[Row]):
    """A bank's answer, as its consequences need it.

    :param asked: the row as the asker read it before it asked.
    :param outcome: "no record" only if it is to be believed; UNKNOWN in its place otherwise.
    :param before: the subject as it was shown right after it was locked.
    :param goes_on: a request asked, and does what follows; otherwise the sweeper will.
    """

    asked: Row
    outcome: Outcome
    before: dict[str, Any]
    goes_on: bool


class Effect(NamedTuple):
    """The part of an answer's consequences that every kind has.

    :param status: the subject's next one; None if the answer has no event.
    :param follow: begins what follows, once the row is saved; returns the row that the asker goes
        on with, its lease held, or None if the sweeper goes on.
    """

    status: str | None = None
    follow: Callable[[], Any] | None = None


class Kind(ABC, Generic[Row]):
    """One kind of rows; its app registers it.

    `slots` are the rows that one process asks about at once: a silent bank costs one time-out
    instead of one for each row. They are the kind's own, so that it delays no other kind.

    `door` moves the object that an answer changes; without one it has no event. With
    `stores_answer` the request is answered by that object, and the answer is stored with its work.
    A row whose id begins with `id_prefix` may become a case, and a person may decide it: the last
    four methods serve `payments.deciding`, because acquirers know no cases.
    """

    model: ClassVar[type[InDoubt]]
    id_prefix: ClassVar[str | None] = None
    slots: ClassVar[int] = 0
    door: ClassVar[Door | None] = None
    stores_answer: ClassVar[bool] = False

    @abstractmethod
    def facts(self, asked: Row, outcome: Outcome) -> Facts[Row]:
        """Lock payment, attempt and row, in this order, and say what `settling` has to know."""

    def save(self, row: Row) -> None:
        """Write a locked row that an answer has changed."""
        row.save()

    def begun(self, row: Row) -> Row | None:
        """Write down what has to be before the bank is asked, and return the row to ask about.

        :returns: None if there is nothing to ask now.
        """
        return row

    @abstractmethod
    def ask(self, row: Row) -> Outcome:
        """Ask the bank how the row ended; the caller holds its lease, and no transaction is open.

        It may be called in another thread, so it opens no transaction itself.
        """

    def inquire(self, row: Row) -> Outcome:
        """Ask the bank how the row ended, which changes nothing there."""
        return self.ask(row)

    @abstractmethod
    def consequences(self, row: Row, said: Said[Row]) -> Effect:
        """Write the answer's consequences into the locked rows; return what all kinds have of them.

        The row is open, its lease is over, and the asker may apply the answer.
        """

    def hear_late(self, asked: Row, row: Row, outcome: Outcome) -> None:
        """Take in the bank's answer about a locked row that has ended or become another one."""

    def unanswered(self, since: datetime) -> dict[str, QuerySet[Any]]:
        """Return the rows that became unknown before `since`, by the kind of case that they become.

        The longest unknown first, read with payment and attempt, and without any other relation.
        """
        return {}

    def decisions(self, row: Row) -> tuple[str, ...]:
        """Return the decisions that a person may take about the row."""
        raise NotImplementedError

    def outcome_of(self, decided: Answer, inquiry: Outcome) -> Outcome:
        """Return the outcome that a person's decision stands for; `inquiry` brought no answer."""
        return Outcome(decided)

    def look_by(self, row: Row) -> datetime | None:
        """Return when an ended row becomes due for another reason than a decision, if it does."""
        return None


def still_open(
    row: InDoubt, outcome: Outcome, *, not_sent: Callable[[], None], send_again: bool
) -> None:
    """Let the row be asked about again, after an answer that has not ended it.

    Changes the row in memory; the caller saves it.

    :param not_sent: notes that it certainly did not leave: it is sent again by itself.
    :param send_again: a "no record" that is to be believed lets it be sent again in the next round.
    """
    if outcome.answer in NEVER_SENT:
        not_sent()
    if outcome.answer is Answer.NO_RECORD and send_again:
        schedule.look_at(row, clock.now())
    else:
        schedule.ask_later(row)


KINDS: Registry[Kind[Any]] = Registry("kind")


def of_id(row_id: str) -> Kind[Any]:
    """Return the kind of the row that a case is about.

    :raises LookupError: no kind has ids with this prefix.
    """
    prefix = row_id.partition("_")[0]
    for kind in KINDS.values():
        if kind.id_prefix == prefix:
            return kind
    raise LookupError(row_id)


def register(*kinds: Kind[Any]) -> None:
    """Let the sweeper ask banks about rows of the kinds; called in `AppConfig.ready()`.

    :raises ImproperlyConfigured: one is registered twice, has no slots, or its cases no decisions.
    """
    for kind in kinds:
        name = f"{type(kind).__module__}.{type(kind).__name__}"
        if kind.slots < 1:
            raise ImproperlyConfigured(f"The kind {name} has no slots.")
        if kind.id_prefix and type(kind).decisions is Kind.decisions:
            raise ImproperlyConfigured(f"The kind {name} has an id_prefix, but no decisions.")
        KINDS.add(name, kind)
