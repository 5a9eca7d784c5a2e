"""Comparing runs: with a stored one, with another version, and with a full database."""

import json
from collections import Counter
from pathlib import Path

import pytest
from django.db import connection

from bench import against, growth, growth_fill, localstripe, opening, turns
from bench.client import Seen
from bench.load import Measured
from devstack.state import CannotContinue
from events.models import Event
from ledger.models import LedgerEntry
from merchants.models import IdempotencyKey
from payments.intents.models import Attempt, PaymentIntent
from tests.bench.test_bench import Bench
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.lengths import length


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    file = tmp_path / "stored.json"
    figures = {"payment_web_cpu_ms": 14.0, "payment_per_second": 80.0, "payment_to_floor": 0.2}
    file.write_text(json.dumps({**figures, "payment_clients_cpu_ms": 0.2, "cores": 2}))
    return file


# --- Against a stored run -----------------------------------------------------------------------


def test_cpu_times_and_ratios_are_compared_and_no_rates(stored: Path) -> None:
    now = {"payment_web_cpu_ms": 7.0, "payment_per_second": 10.0, "payment_to_floor": 0.3}

    shown = against.table(against.stored(stored), now)

    assert [line.split() for line in shown.splitlines()[2:]] == [
        ["payment", "web", "cpu", "ms", "14", "7", "0.50"],
        ["payment", "to", "floor", "0.2", "0.3", "1.50"],
    ]


@pytest.mark.parametrize("content", ["", "[1]", "{}", '{"cores": 2}'])
def test_a_file_without_figures_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(content)

    with pytest.raises(CannotContinue):
        against.stored(file)


def test_a_run_of_something_else_is_refused(stored: Path) -> None:
    with pytest.raises(CannotContinue, match="something else"):
        against.table(against.stored(stored), {"lists_buffers": 3})


# --- In turns -----------------------------------------------------------------------------------


def block(first_ms: float, second_ms: float) -> dict[str, list[Measured]]:
    seen = Seen(10, 1.0, 1.0, 1.0, 0.1, 0, None, "pi_1")
    return {"payment": [Measured(seen, Counter({"web": ms})) for ms in (first_ms, second_ms)]}


def test_the_middle_one_of_the_paired_ratios_counts() -> None:
    # The machine was busy in the second round, and it met both.
    figures = turns._figures([block(1, 2), block(30, 40), block(2, 4)], ("here", "there"))

    assert figures["payment_web_ratio"] == 0.5
    assert figures["payment_web_cpu_ms_here"] == 2
    assert "payment_bank_ratio" not in figures
    shown = turns.table(figures, names=("here", "there"), heading="")
    assert shown.splitlines()[-1].split() == ["payment,", "web", "2.00", "4.00", "0.50"]


def test_now_the_one_is_first_and_now_the_other() -> None:
    assert [turns._order(turn) for turn in range(3)] == [(0, 1), (1, 0), (0, 1)]


def test_the_code_of_a_commit_is_laid_out_and_taken_away() -> None:
    with opening.code_of("HEAD") as root:
        assert (root / "manage.py").is_file()
        assert not (root / ".git").exists()
    assert not root.exists()


@pytest.mark.parametrize("commit", ["no-such-commit", "--output=/tmp/x"])
def test_a_commit_that_is_not_there_is_refused(commit: str) -> None:
    with pytest.raises(CannotContinue, match="no code"), opening.code_of(commit):
        pass


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(900)
def test_two_versions_are_measured_in_turns(tmp_path: Path) -> None:
    # In two rounds each version comes first once; more of them make figures steady.
    rounds = ["--rounds", length(short="1", full="2")]
    bench = Bench(tmp_path / "state", "--beside", "HEAD", *rounds, patience_seconds=800)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False, False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    for call in ("payment", "retrieve", "list"):
        for process in ("web", "postgres"):
            assert figures[f"{call}_{process}_ratio"] > 0


# --- Beside a fake ------------------------------------------------------------------------------


def test_without_the_fake_the_run_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALSTRIPE", raising=False)
    monkeypatch.setattr(localstripe.shutil, "which", lambda _name: None)

    with pytest.raises(CannotContinue, match="pip install localstripe"):
        localstripe._program()


def test_the_cpu_time_of_all_processes_is_compared() -> None:
    seen = Seen(10, 20.0, 1.0, 1.0, 0.1, 0, None, "pi_1")
    blocks = [Measured(seen, Counter(web=ms, bank=2, postgres=3)) for ms in (5, 50, 6)]

    figures = localstripe._figures("ours", blocks, localstripe.OURS)

    assert figures == {"ours_per_second": 20.0, "ours_cpu_ms": 11}


# --- Among many ---------------------------------------------------------------------------------


@pytest.mark.only_full("test_bench.py runs one subject, from its start to its end")
@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1200)
def test_a_payment_among_many_is_measured(tmp_path: Path) -> None:
    parts = length(short=["merchants"], full=list(growth.PARTS))
    # One round has every figure; more of them make figures steady, and this proof judges no figure.
    size = ["--percent", "5", "--rounds", "1"]
    bench = Bench(tmp_path / "state", "growth", *parts, *size, patience_seconds=1100)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    wanted = {bar.figure for bar in growth.BARS if bar.figure.startswith(tuple(parts))}
    assert len(wanted) == len(parts) * len(growth.CALLS)
    assert wanted <= set(figures)


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_payments_rows_are_copied_under_ids_of_their_own(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.post("/v1/payment_intents", payment(), idempotency_key="order_000000000001")

    growth_fill.fill(acme.merchant.id, 60, 6)

    assert PaymentIntent.objects.count() == Attempt.objects.count() == 60
    assert Event.objects.count() == 120
    assert LedgerEntry.objects.count() == 120
    assert IdempotencyKey.objects.count() == 60
    owners = PaymentIntent.objects.values_list("merchant_id", flat=True)
    assert max(Counter(owners).values()) == min(Counter(owners).values()) == 10
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM intents_attempt a JOIN intents_paymentintent p"
            " ON (p.id, p.merchant_id) = (a.intent_id, a.merchant_id)"
            " JOIN merchants_merchant m ON m.id = p.merchant_id"
        )
        assert cursor.fetchone() == (60,)
    # The given merchant goes on as before.
    assert acme.pay()["status"] == "succeeded"
    assert len(acme.get("/v1/payment_intents?limit=100")["data"]) == 11
