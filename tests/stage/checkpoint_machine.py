"""Writers and checkpoint runs as a state machine: in whatever order, sums are those of the entries.

What is checked is what a merchant is shown, against the committed entries alone.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ledger import balance, checkpoints
from ledger.models import Checkpoint, LedgerEntry
from tests.stage.factories import MerchantFactory
from tests.stage.journal_writers import Writer, booked, open_accounts, topup

WRITERS, MERCHANTS = 3, 2
STATEMENTS_MAX = 14
HOWS = ("write", "write", "commit", "commit", "roll back")
KINDS = {"write", "commit", "roll back", "late commit", "run", "run that adds", "killed run"}


class Killed(BaseException):
    """As `kill -9` ends a run: what was not committed is undone."""


class Checkpoints(RuleBasedStateMachine):
    """Merchants of its own in each example; writers are open beside the runs."""

    fired: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.merchants = [open_accounts(MerchantFactory()) for _ in range(MERCHANTS)]
        self.writers = [Writer() for _ in range(WRITERS)]

    def teardown(self) -> None:
        for writer in self.writers:
            writer.close()
        checkpoints.advance()
        checkpoints.advance()
        self.what_is_shown_is_what_is_booked()

    # One rule with many ways: an example leaves some rules out altogether.
    @rule(hows=st.lists(st.sampled_from(HOWS), min_size=1, max_size=6), draw=st.randoms())
    def go_on(self, hows: list[str], draw: Random) -> None:
        """Let writers do something, one after the other, and then the job."""
        for how in hows:
            writer = draw.choice(self.writers)
            if how == "write":
                self.fired[how] += 1
                writer.topup(draw.choice(self.merchants), draw.randint(1, 999))
            elif how == "commit":
                self.commit(writer)
            else:
                self.fired[how] += 1
                writer.rollback()
            topup(draw.choice(self.merchants), draw.randint(1, 999))

    def commit(self, writer: Writer) -> None:
        is_late = (
            bool(writer.entries) and LedgerEntry.objects.filter(id__gt=writer.entries[0]).exists()
        )
        self.fired["late commit" if is_late else "commit"] += 1
        writer.commit()

    @rule()
    def run(self) -> None:
        self.fired["run that adds" if checkpoints.advance() else "run"] += 1

    @rule(statements=st.integers(1, STATEMENTS_MAX))
    def run_and_kill(self, statements: int) -> None:
        left = statements

        def dying(execute: Callable, *statement: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                raise Killed
            return execute(*statement)

        try:
            with connection.execute_wrapper(dying):
                checkpoints.advance()
        except Killed:
            self.fired["killed run"] += 1

    @invariant()
    def what_is_shown_is_what_is_booked(self) -> None:
        for merchant in self.merchants:
            assert balance.funds(merchant.id, "try").available == booked(merchant)

    @invariant()
    def nothing_is_committed_below_a_checkpoint(self) -> None:
        for kept in Checkpoint.objects.filter(merchant__in=self.merchants):
            below = LedgerEntry.objects.filter(account=kept.account_id, id__lte=kept.boundary)
            assert kept.sum == sum(below.values_list("amount", flat=True))
