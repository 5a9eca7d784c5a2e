"""Cards that are being tested at a merchant: its payers must authenticate; honest ones need not."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from core import clock
from payments.charging import card_testing, tasks
from payments.intents.models import Attempt
from payments.risk.models import Watch
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.database_role import analyze
from tests.stage.factories import DECLINED_CARD, RETURN_URL
from tests.stage.risky import PAID, ended, paid_by, past_attempts, set_rule

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture(autouse=True)
def _as_in_live(settings: Any) -> None:
    settings.RISK_RULES = {"card_testing": "authenticate"}


def declined(client: ApiClient, count: int, *, of: int | None = None, ago: float = 1) -> None:
    """Let a merchant have declined attempts, of as many attempts, each with another card."""
    at = clock.now() - timedelta(seconds=ago)
    past_attempts(client.merchant, of or count, declined=count, at=at)


@pytest.mark.parametrize(
    ("count", "of", "is_found"),
    [(29, 29, False), (30, 30, True), (30, 50, True), (30, 51, False), (400, 500, True)],
)
def test_enough_different_cards_and_most_of_the_attempts_are_a_test(
    count: int, of: int, is_found: bool, acme: ApiClient, bank: BankTransport
) -> None:
    declined(acme, count, of=of)

    tasks.watch_tested()

    assert Watch.objects.filter(merchant=acme.merchant).exists() is is_found
    answer = paid_by(acme, return_url=RETURN_URL)
    assert answer["status"] == ("requires_action" if is_found else "succeeded")
    assert answer["fraud"]["rule"] == ("card_testing" if is_found else None)


def test_a_thousand_honest_payers_with_some_declines_are_never_stopped(
    acme: ApiClient, bank: BankTransport
) -> None:
    declined(acme, 50, of=1000)

    tasks.watch_tested()

    assert ended(paid_by(acme)) == PAID


def test_one_card_that_is_declined_again_and_again_is_no_test(
    acme: ApiClient, bank: BankTransport
) -> None:
    declined(acme, 40)
    Attempt.objects.update(card_fingerprint="0" * 64)

    assert card_testing.watch_tested() == []


def test_what_is_older_than_the_window_counts_no_more(acme: ApiClient, bank: BankTransport) -> None:
    declined(acme, 40, ago=599)
    assert card_testing.watch_tested() == [acme.merchant.id]
    Watch.objects.all().delete()

    clock.advance(timedelta(seconds=2))

    assert card_testing.watch_tested() == []


def test_the_demand_holds_for_half_an_hour_from_the_last_time(
    acme: ApiClient, bank: BankTransport
) -> None:
    declined(acme, 40)
    tasks.watch_tested()
    clock.advance(timedelta(minutes=29))
    declined(acme, 40, ago=0)
    tasks.watch_tested()

    clock.advance(timedelta(minutes=29))
    still = paid_by(acme, return_url=RETURN_URL)["status"]
    clock.advance(timedelta(minutes=2))

    assert (still, ended(paid_by(acme))) == ("requires_action", PAID)


def test_other_merchants_payers_notice_nothing(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    declined(acme, 40)

    assert card_testing.watch_tested() == [acme.merchant.id]
    assert ended(paid_by(globex)) == PAID


def test_a_merchants_own_rule_goes_over_the_installations(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    declined(acme, 3, ago=900)
    declined(globex, 40)
    set_rule(acme.merchant, "card_testing", "block", 3, seconds=1800)
    set_rule(globex.merchant, "card_testing", "off")

    assert card_testing.watch_tested() == [acme.merchant.id]
    assert ended(paid_by(acme))[1] == "fraud_blocked"
    assert ended(paid_by(globex)) == PAID


def test_an_installation_without_the_rule_looks_at_no_attempt(
    acme: ApiClient, bank: BankTransport, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.RISK_RULES = {}
    declined(acme, 40)

    # The clock, BEGIN, the settings, COMMIT.
    with django_assert_num_queries(4):
        assert card_testing.watch_tested() == []


def test_real_declines_are_found(acme: ApiClient, bank: BankTransport) -> None:
    set_rule(acme.merchant, "card_testing", "authenticate", 2)
    for number in (DECLINED_CARD, "4000000000009995"):
        paid_by(acme, number)

    assert card_testing.watch_tested() == [acme.merchant.id]


def test_the_job_reads_the_declined_attempts_from_their_index(acme: ApiClient) -> None:
    declined(acme, 3, of=2000)
    with connection.cursor() as cursor:
        analyze("intents_attempt")
        wanted = card_testing._wanted(clock.now())
        assert wanted is not None
        cursor.execute(f"EXPLAIN {card_testing.FIND}", wanted)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "declined_attempts_by_time" in plan, plan
