"""Checkpoints: sums that a job keeps are right, whatever is committed, held open or killed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event as Signal
from threading import Thread
from types import SimpleNamespace

import pytest
from django.db import connection, connections, transaction
from django.db.models import Model
from structlog.testing import capture_logs

from core import clock, rows
from ledger import accounts, balance, book, checkpoints
from ledger.models import Boundary, Checkpoint, LedgerEntry
from merchants.models import Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory
from tests.stage.journal_writers import booked, open_accounts, topup, writing
from tests.stage.threads import together

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

# For so long something is held for somebody who waits for it, which nobody may.
HELD_SECONDS = 30


@pytest.fixture
def merchant() -> Merchant:
    return open_accounts(MerchantFactory())


def available(merchant: Merchant) -> int:
    return balance.funds(merchant.id, "try").available


def kept(merchant: Merchant) -> int:
    """Return what the checkpoint says, without the entries behind it."""
    row = Checkpoint.objects.filter(account=f"{merchant.id}.try.available").first()
    return row.sum if row else 0


def behind() -> int:
    row = Boundary.objects.first()
    return LedgerEntry.objects.filter(id__gt=row.reached if row else 0).count()


def test_a_balance_is_its_checkpoint_and_what_is_behind(merchant: Merchant) -> None:
    topup(merchant, 100, 20)
    before = available(merchant), kept(merchant)
    checkpoints.advance()
    after = available(merchant), kept(merchant)
    topup(merchant, 3)

    assert (before, after) == ((120, 0), (120, 120))
    assert (available(merchant), kept(merchant), booked(merchant)) == (123, 120, 123)


def test_every_account_of_every_merchant_has_its_own(merchant: Merchant) -> None:
    other = open_accounts(MerchantFactory())
    topup(merchant, 100)
    topup(other, 7)

    assert checkpoints.advance() == 4

    sums = dict(Checkpoint.objects.values_list("account_id", "sum"))
    assert sums == {
        f"{merchant.id}.try.available": 100, f"{merchant.id}.try.transfers": -100,
        f"{other.id}.try.available": 7, f"{other.id}.try.transfers": -7,
    }  # fmt: skip
    assert checkpoints.advance() == 0


def test_more_than_a_chunk_is_added_chunk_by_chunk(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 3)
    topup(merchant, *range(1, 11))

    assert checkpoints.advance() == 20
    assert (kept(merchant), behind()) == (55, 0)


def test_a_run_that_takes_too_long_leaves_the_rest_to_the_next(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 2)
    # One look at the clock at the beginning, one after an old boundary, and one for each chunk.
    seconds = iter([0, 0, 0, 1, 2])
    ticking = SimpleNamespace(monotonic=lambda: next(seconds, checkpoints.RUN_SECONDS))
    monkeypatch.setattr(checkpoints, "time", ticking)
    topup(merchant, *range(1, 11))

    first = checkpoints.advance()
    monkeypatch.undo()

    assert (first, available(merchant)) == (6, 55)
    assert (checkpoints.advance(), kept(merchant)) == (14, 55)


# --- What is committed late --------------------------------------------------------------------


def advance_beside_one_that_commits_late(merchant: Merchant) -> None:
    """Run the job thrice while a transaction with lower ids is open, and once when it has ended."""
    with writing() as late:
        late.topup(merchant, 1000)
        topup(merchant, 10)
        checkpoints.advance()
        topup(merchant, 20)
        checkpoints.advance()
        checkpoints.advance()
        late.commit()
    topup(merchant, 5)
    checkpoints.advance()


def test_an_entry_that_is_committed_below_later_ones_is_not_lost(merchant: Merchant) -> None:
    advance_beside_one_that_commits_late(merchant)

    assert available(merchant) == booked(merchant) == 1035
    assert (kept(merchant), behind()) == (1035, 0)


def test_it_would_be_lost_if_the_job_did_not_wait(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "SAFE", "SELECT next FROM ledger_boundary")

    advance_beside_one_that_commits_late(merchant)

    assert booked(merchant) - available(merchant) == 1000


def test_a_boundary_is_awaited_while_a_transaction_of_before_is_open(merchant: Merchant) -> None:
    topup(merchant, 10)
    with writing() as late:
        late.topup(merchant, 1)
        topup(merchant, 100)

        runs = [checkpoints.advance(), checkpoints.advance()]
        late.rollback()
        runs.append(checkpoints.advance())

    assert runs == [0, 0, 4]
    assert available(merchant) == kept(merchant) == 110


def test_one_that_stays_open_is_told_of_and_no_balance_is_wrong(acme: ApiClient) -> None:
    merchant = open_accounts(acme.merchant)
    topup(merchant, 10)
    with writing() as late, capture_logs() as said:
        late.topup(merchant, 1)
        checkpoints.advance()
        topup(merchant, 100)
        assert said == []  # It may end in a moment.

        checkpoints.advance()

        assert [line["event"] for line in said] == ["checkpoints_held_back"]
        assert acme.get("/v1/balance")["available"] == [{"amount": 110, "currency": "try"}]
        late.commit()
    assert acme.get("/v1/balance")["available"] == [{"amount": 111, "currency": "try"}]


def test_transactions_that_begin_later_are_not_waited_for(merchant: Merchant) -> None:
    topup(merchant, 10)
    with writing() as first, writing() as second:
        first.topup(merchant, 1)
        checkpoints.advance()  # It notes the boundary, and waits for the first.
        second.topup(merchant, 2)
        first.commit()

        assert checkpoints.advance() == 2
        second.commit()
    checkpoints.advance()

    assert available(merchant) == kept(merchant) == booked(merchant) == 13


def test_one_that_began_after_all_that_have_ended_is_waited_for(merchant: Merchant) -> None:
    # Its number is above all that a snapshot counts as begun.
    with writing() as first, writing() as late:
        first.topup(merchant, 1)
        late.topup(merchant, 20)
        first.topup(merchant, 300)
        first.commit()

        assert checkpoints.advance() == 0
        late.commit()
    checkpoints.advance()

    assert available(merchant) == kept(merchant) == 321


def test_a_transaction_that_has_only_read_is_not_waited_for(merchant: Merchant) -> None:
    topup(merchant, 10)
    with writing() as reader:
        reader.run("SELECT count(*) FROM ledger_entry")
        added = checkpoints.advance()
        reader.topup(merchant, 5)
        reader.commit()
    checkpoints.advance()

    assert added == 2
    assert available(merchant) == kept(merchant) == 15


def test_a_savepoint_of_a_transaction_of_before_is_waited_for(merchant: Merchant) -> None:
    topup(merchant, 10)
    with writing() as late:
        late.topup(merchant, 1)
        late.run("SAVEPOINT inside")
        late.topup(merchant, 2)
        topup(merchant, 30)
        late.run("RELEASE SAVEPOINT inside")

        assert checkpoints.advance() == 0
        late.commit()
    checkpoints.advance()

    assert available(merchant) == kept(merchant) == 43


def test_the_journal_has_its_number_before_any_entry_has_its_id(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The boundary relies on it: of what has an id below it, it knows by the transaction's number.
    numbers: list[str | None] = []
    real = rows.insert_all

    def insert_all(written: Sequence[Model]) -> None:
        if not isinstance(written[0], LedgerEntry):
            return real(written)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_xact_id_if_assigned()")
            numbers.append(cursor.fetchone()[0])
        return real(written)

    monkeypatch.setattr(rows, "insert_all", insert_all)
    with transaction.atomic():
        book.topup(merchant.id, amount=1, currency="try", cause_id="tu_1", now=clock.now())

    assert len(numbers) == 1
    assert numbers[0] is not None


# --- What is killed, lost, or beside itself ----------------------------------------------------


class Killed(BaseException):
    """As `kill -9` ends it: what was not committed is undone."""


@pytest.mark.parametrize("place", range(1, 12))
def test_a_run_that_dies_at_any_statement_is_gone_on_with(
    place: int, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 6)
    topup(merchant, *range(1, 11))
    left = place

    def dying(execute: Callable, *statement: object) -> object:
        nonlocal left
        left -= 1
        if not left:
            raise Killed
        return execute(*statement)

    with connection.execute_wrapper(dying), pytest.raises(Killed):
        checkpoints.advance()
    shown = available(merchant)
    checkpoints.advance()

    assert shown == available(merchant) == kept(merchant) == 55


def test_two_runs_at_once_add_each_entry_once(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHUNK", 4)
    for _ in range(5):
        topup(merchant, *range(1, 11))
        added = together([checkpoints.advance] * 3)
        checkpoints.advance()

        assert sum(added) <= 20
        assert available(merchant) == kept(merchant) == booked(merchant)


def test_no_entry_is_added_twice_if_the_progress_is_lost(merchant: Merchant) -> None:
    topup(merchant, 10, 20)
    checkpoints.advance()
    Boundary.objects.all().delete()
    topup(merchant, 5)

    checkpoints.advance()

    assert available(merchant) == kept(merchant) == 35


# --- Nobody waits for the job, and the job for nobody ------------------------------------------


@contextmanager
def held(*statements: str) -> Iterator[None]:
    """A transaction that has run these statements, and stays open while the block runs."""
    is_held, may_end, was_awaited = Signal(), Signal(), Signal()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            is_held.set()
            if not may_end.wait(HELD_SECONDS):
                was_awaited.set()
        connections.close_all()

    thread = Thread(target=hold)
    thread.start()
    assert is_held.wait(10)
    try:
        yield
        assert not was_awaited.is_set(), "somebody waited for it"
    finally:
        may_end.set()
        thread.join(HELD_SECONDS)


def test_nobody_waits_for_a_run_that_is_held_open(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()
    checkpoints.advance()
    acme.pay()
    newest = LedgerEntry.objects.latest("id").id
    run = checkpoints.ADD % {"reached": 0, "upto": newest, "most": 1000}

    with held(f"UPDATE ledger_boundary SET next = {newest}", run):  # noqa: S608
        paid = acme.pay()
        with transaction.atomic():
            accounts.lock(acme.merchant.id, "try")
            book.topup(acme.merchant.id, amount=1, currency="try", cause_id="tu_1", now=clock.now())
        assert acme.get("/v1/balance").status == 200
        assert checkpoints.advance() == 0

    assert paid["status"] == "succeeded"


def test_a_run_waits_for_no_account_that_is_held(merchant: Merchant) -> None:
    topup(merchant, 10)
    checkpoints.advance()
    topup(merchant, 1)
    lock = f"SELECT FROM ledger_account WHERE merchant_id = '{merchant.id}' FOR NO KEY UPDATE"  # noqa: S608

    with held(lock):
        # A transaction that locks a row has a number: the boundary is noted, and awaited.
        assert checkpoints.advance() == 0

    assert checkpoints.advance() == 2
