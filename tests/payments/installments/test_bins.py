"""Facts about a card's issuer: by the longest prefix, imported or built in."""

from typing import Any

import pytest
from django.db import connection

from acquirers.gateway import IssuerFacts
from payments.installments import bins
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.bank_transport import BankTransport
from tests.stage.bin_table import import_bins, line
from tests.stage.client import ApiClient
from tests.stage.database_role import analyze
from tests.stage.factories import GOOD_CARD, three_d_secure, unconfirmed

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

BUILT_IN = {"424242": IssuerFacts("visa", "credit", "US"), "4111111": IssuerFacts(None, "x", "X")}
BACK = "https://acme.example/back"


def program_of(number: str) -> str | None:
    return bins.facts_of(number, built_in=BUILT_IN).program


def test_the_longest_prefix_wins() -> None:
    import_bins(
        line("454300", program="six"), line("4543001", program="seven"),
        line("45430012", program="eight"),
    )  # fmt: skip

    assert program_of("4543990000000000") is None
    assert program_of("4543000000000000") == "six"
    assert program_of("4543001000000000") == "seven"
    assert program_of("4543001200000000") == "eight"
    assert program_of("454300") == "six"
    assert program_of("4543001") == "seven"


def test_an_import_wins_over_a_built_in_prefix_of_its_length_and_loses_to_a_longer_one() -> None:
    import_bins(line("424242", program="ours"), line("411111", program="short"))

    assert program_of(GOOD_CARD) == "ours"
    assert bins.facts_of("4111111111111111", built_in=BUILT_IN).card_type == "x"


def test_all_facts_of_the_table_are_told() -> None:
    import_bins(line(commercial="true", three_d_secure_required="true", card_type="prepaid"))

    assert bins.facts_of("4543000012345678", built_in={}) == IssuerFacts(
        "visa", "prepaid", "TR", "Test Bank A", "bonus", True, True
    )


def test_an_empty_brand_is_the_public_ranges() -> None:
    import_bins(line("97920301", brand="", issuer="", program=""))

    facts = bins.facts_of("97920301", built_in={})

    assert (facts.brand, facts.issuer, facts.program) == ("troy", None, None)


def test_an_unknown_card_is_a_foreign_credit_card_without_a_programme() -> None:
    assert bins.facts_of("5105105105105100", built_in=BUILT_IN) == IssuerFacts(
        "mastercard", "credit", None
    )


def test_a_payment_shows_the_imported_facts_and_keeps_them(
    acme: ApiClient, bank: BankTransport
) -> None:
    import_bins(line("424242", card_type="prepaid"))
    created = acme.post("/v1/payment_intents", unconfirmed())
    import_bins(line("424242", card_type="debit", country="US"))

    card = acme.payment(created["id"])["card"]

    assert (card["card_type"], card["domestic"]) == ("prepaid", True)
    assert "issuer" not in card
    kept = PaymentIntent.objects.get().card
    assert (kept["issuer"], kept["program"], kept["country"]) == ("Test Bank A", "bonus", "TR")


@pytest.mark.parametrize("requested", ["automatic", "none"])
def test_a_bin_that_requires_authentication_gets_it(
    requested: str, acme: ApiClient, bank: BankTransport
) -> None:
    import_bins(line("424242", country="US", three_d_secure_required="true"))

    paid = acme.pay(return_url=BACK, **three_d_secure(requested))

    assert (paid["status"], paid["three_d_secure"]["effective"]) == ("requires_action", "required")


def test_a_bin_that_requires_authentication_needs_a_way_back(
    acme: ApiClient, bank: BankTransport
) -> None:
    import_bins(line("424242", three_d_secure_required="true"))

    assert acme.pay().refusal == (400, "parameter_missing", "return_url")
    assert not Attempt.objects.exists()


@pytest.mark.slow
def test_a_look_up_reads_ten_buffers_among_500_000_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute(MANY)
        analyze("installments_bin, installments_binimport")
        cursor.execute(bins.OF_CALLER)
        [[version]] = cursor.fetchall()
    prefixes = "'{45430012,4543001,454300}'"

    with connection.cursor() as cursor:
        asked = bins.FIND % {"version": version, "prefixes": prefixes}
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {asked}")
        [[[found]]] = cursor.fetchall()
    plan: dict[str, Any] = found["Plan"]
    buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]

    print(f"a look-up reads {buffers} buffers")  # noqa: T201
    assert plan["Actual Rows"] == 1
    assert 0 < buffers <= 10


MANY = """
    WITH versions AS (
        INSERT INTO installments_binimport (is_active, row_count, created_at)
        SELECT version = 3, 100000, now() FROM generate_series(1, 5) version RETURNING id
    )
    INSERT INTO installments_bin (version_id, prefix, brand, card_type, country, issuer, program,
        commercial, three_d_secure_required)
    SELECT id, prefix::text, 'visa', 'credit', 'TR', 'Test Bank A', 'bonus', false, false
    FROM versions, (
        SELECT 40000000 + n * 97 AS prefix FROM generate_series(1, 99999) n
        UNION ALL SELECT 454300
    ) prefixes
"""
