"""The benchmark of terms finds its figures, and counts that read the whole table."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from bench import attempts_fill, audit_fill, bars, terms, terms_work
from core import clock
from merchants import audit_chains
from payments.intents.models import Attempt
from tests.bench.test_bench import Bench
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.lengths import length, tried
from tests.stage.tampering import tamper

ATTEMPTS = length(short=100_000, full=1_000_000)
SIZE = ["--percent", length(short="5", full="100"), "--rounds", "1"]
# Those that a busy machine does not blur.
COUNTED = [bar for bar in terms.BARS if bar.figure in ("risk_statements", "risk_buffers")]


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1800)
def test_it_finds_all_figures_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "state", "terms", *SIZE, patience_seconds=1700)

    assert bench.status() == 0, bench.printed
    assert bench.left(after_seconds=0) == []
    assert [path.exists() for path in bench.directories] == [False]
    figures = json.loads((tmp_path / "state" / "bench.json").read_text())
    assert {bar.figure for bar in terms.BARS} <= set(figures)
    assert bars.verdicts(COUNTED, figures) == {"risk_statements": True, "risk_buffers": True}
    tried(int(figures["audit_rows"]), "rows of the audit log")


# --- What is read, and what it is held against --------------------------------------------------


@pytest.mark.proof(part="bench")
@pytest.mark.timeout(1200)
@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_the_counts_of_the_rules_are_read_from_their_indexes(
    acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay()
    attempts_fill.fill(acme.merchant.id, ATTEMPTS)
    clock.advance(timedelta(hours=3))  # However long it takes to fill them in.

    read = attempts_fill.buffers_of_counts(acme.merchant.id)

    tried(Attempt.objects.count(), "attempts behind the counts of a payment")
    print(f"the counts read {read} buffers")  # noqa: T201
    figures = {"risk_buffers": read}
    assert bars.verdicts(COUNTED, figures) == {"risk_buffers": True}
    # A planted fault: without their indexes the counts read the merchant's whole day.
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX attempts_with_a_card, attempts_with_an_email")
    try:
        without = {"risk_buffers": attempts_fill.buffers_of_counts(acme.merchant.id)}
    finally:
        _make_indexes_anew()
    assert bars.verdicts(COUNTED, without) == {"risk_buffers": False}


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_cards_are_tested_at_one_merchant_of_the_filled_hour(
    acme: ApiClient, bank: BankTransport, settings: Any
) -> None:
    settings.RISK_RULES = {"card_testing": "authenticate"}
    acme.pay()
    attempts_fill.fill_hour(acme.merchant.id, 20_000)
    clock.advance(timedelta(hours=1))  # So long may it take to fill them in.

    assert terms_work.watch_tested(acme.merchant.id)["ms"] > 0
    with pytest.raises(ValueError, match="alone"):
        terms_work.watch_tested("mer_other")


def _make_indexes_anew() -> None:
    with connection.schema_editor() as editor:
        for index in Attempt._meta.indexes:
            if index.name in ("attempts_with_a_card", "attempts_with_an_email"):
                editor.add_index(Attempt, index)


@pytest.mark.django_db(transaction=True)
def test_the_filled_log_is_as_its_writer_makes_it(db: None) -> None:
    audit_fill.fill(300)
    audit_fill.fill(150)
    problems: list[audit_chains.Problem] = []

    walked = audit_chains.verify(tell=problems.append)

    assert (walked.rows, walked.chains, problems) == (450, audit_fill.CHAINS, [])
    tamper("UPDATE merchants_auditentry SET actor_name = 'x' WHERE sequence = 2")
    assert audit_chains.verify(tell=problems.append).problems == audit_fill.CHAINS


# --- Bars ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "verdict"), [(0, True), (1, False)])
def test_a_bar_holds_or_does_not(change: int, verdict: bool) -> None:
    figures = {bar.figure: 1.0 for bar in terms.BARS}
    figures |= {"risk_keeps": 0.9 - change, "risk_statements": 4 + change}
    figures |= {"beside_times": 1.2 + change, "audit_seconds": 60 + change}

    found = bars.verdicts(terms.BARS, figures)

    changed = ("risk_keeps", "risk_statements", "beside_times", "audit_seconds")
    assert {found[figure] for figure in changed} == {verdict}
