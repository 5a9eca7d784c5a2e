"""Banks that have neither notices nor a list of all orders, and take disputes on paper."""

from collections.abc import Iterator, Mapping

from acquirers.gateway import Order, StatementLine
from acquirers.models import Terminal
from acquirers.noticed import Notice
from acquirers.outcomes import Answer, Outcome
from acquirers.settlement import Reader


class OnPaper:
    """The part of a gateway that such a bank does not have."""

    # A kind whose bank's file is known names its own.
    settlement_reader: Reader | None = None

    def notices(self, terminal: Terminal, *, after: int, limit: int = 200) -> list[Notice] | None:
        """Return None: the bank gives no notice."""
        return None

    def submit_evidence(
        self, order: Order, *, dispute: str, number: int, evidence: Mapping[str, str]
    ) -> Outcome:
        """Refuse: the bank takes evidence on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def accept_dispute(self, order: Order, *, dispute: str) -> Outcome:
        """Refuse: the bank takes answers on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def end_inquiry(self, order: Order, *, dispute: str) -> Outcome:
        """Refuse: the bank takes answers on paper."""
        return Outcome(Answer.NOT_CHARGED)

    def statement(self, terminal: Terminal, *, after: str = "") -> Iterator[StatementLine] | None:
        """Return None: `audit` asks the bank about each order instead."""
        return None
