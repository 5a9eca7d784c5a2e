"""The limit per day without 3-D Secure: what a day takes, and where its midnight is."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from acquirers.conversation import settling
from acquirers.outcomes import Answer, Outcome
from core import clock
from merchants import accounts
from merchants.models import Merchant
from payments.bank import attempts
from payments.intents import non_secure
from payments.intents.models import Attempt, NonSecureDay
from tests.stage.audited import assert_our_own_books_agree
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, payment, three_d_secure
from tests.stage.non_secure_days import (
    ONE,
    PATH,
    advance_to,
    left_open,
    limit,
    pay,
    pay_at_once,
    taken,
    today,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture
def shop(acme: ApiClient, bank: BankTransport) -> ApiClient:
    """Acme, which may take four payments a day without 3-D Secure; at noon."""
    advance_to(12, 0)
    limit(acme, 4 * ONE)
    return acme


def test_a_day_takes_its_limit_and_no_more(shop: ApiClient) -> None:
    statuses = [pay(shop) for _ in range(6)]

    assert statuses == ["succeeded"] * 4 + ["requires_action"] * 2
    assert taken() == 4 * ONE
    assert_our_own_books_agree()


def test_a_process_remembers_a_bounded_number_of_begun_days(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(non_secure, "BEGUN_MAX", 3)
    monkeypatch.setattr(non_secure, "_begun", {(f"mer_{n}", "try"): today() for n in range(3)})

    statuses = [pay(shop) for _ in range(6)]

    assert statuses == ["succeeded"] * 4 + ["requires_action"] * 2
    assert len(non_secure._begun) == 1


def test_of_forty_at_once_as_many_pass_as_fit(shop: ApiClient) -> None:
    assert pay_at_once(shop, 40) == 4
    assert taken() == 4 * ONE
    assert_our_own_books_agree()


def test_the_race_is_lost_without_either_condition(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = "AND taken + %(amount)s::bigint <= %(most)s::bigint"
    assert condition in non_secure.ADD
    monkeypatch.setattr(non_secure, "ADD", non_secure.ADD.replace(condition, ""))
    # The limits that are read under the lock would find it too.
    unlimited = non_secure.Limit("try", None, None)
    monkeypatch.setattr(non_secure, "_limit_now", lambda *_: unlimited)

    assert pay_at_once(shop, 8) == 8


def test_without_a_limit_per_day_nothing_is_counted(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()

    with CaptureQueriesContext(connection) as statements:
        acme.pay()

    assert not [one for one in statements.captured_queries if "nonsecureday" in one["sql"]]
    assert not NonSecureDay.objects.exists()
    assert Attempt.objects.filter(non_secure_day=None).count() == 2


def test_a_payment_reads_no_other_attempt_of_the_day(shop: ApiClient) -> None:
    pay(shop)

    with CaptureQueriesContext(connection) as fits:
        pay(shop)
    limit(shop, ONE)
    with CaptureQueriesContext(connection) as fits_not:
        pay(shop)

    for statements, most in ((fits, 1), (fits_not, 2)):
        texts = [query["sql"] for query in statements.captured_queries]
        assert not [text for text in texts if "SUM(" in text]
        assert len([text for text in texts if "intents_nonsecureday" in text]) == most


def test_a_limit_that_is_new_counts_what_the_day_took_before(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay(acme)
    pay(acme, DECLINED_CARD)
    limit(acme, 3 * ONE)

    statuses = [pay(acme) for _ in range(3)]

    assert statuses == ["succeeded", "succeeded", "requires_action"]
    day = NonSecureDay.objects.get()
    assert (day.taken, day.uncounted) == (3 * ONE, ONE)
    assert_our_own_books_agree()


def test_what_the_day_took_before_is_added_up_once_though_nothing_passes(
    acme: ApiClient, bank: BankTransport
) -> None:
    pay(acme)
    limit(acme, ONE)
    body = payment(**three_d_secure("none"))

    with CaptureQueriesContext(connection) as statements:
        refusals = {acme.post(PATH, body).error["code"] for _ in range(3)}

    assert refusals == {"non_secure_not_allowed"}
    sums = [one for one in statements.captured_queries if "SUM(" in one["sql"]]
    assert len(sums) == 1
    assert (taken(), Attempt.objects.count()) == (ONE, 1)


def test_a_limit_taken_away_and_set_again_goes_on_where_it_was(shop: ApiClient) -> None:
    pay(shop)
    accounts.change(shop.merchant, {"non_secure_limits": {"try": None}}, reason="A test.")
    limit(shop, 2 * ONE)

    assert [pay(shop), pay(shop)] == ["succeeded", "requires_action"]
    assert_our_own_books_agree()


def test_currencies_have_days_of_their_own(shop: ApiClient) -> None:
    limit(shop, ONE, "usd")

    assert [pay(shop, currency="usd") for _ in range(2)] == ["succeeded", "requires_action"]
    assert pay(shop) == "succeeded"
    assert_our_own_books_agree()


# --- Midnight ---------------------------------------------------------------------------------


def test_a_new_day_begins_at_the_merchants_midnight(shop: ApiClient) -> None:
    advance_to(23, 50)
    assert [pay(shop) for _ in range(5)][-1] == "requires_action"

    advance_to(0, 1)

    assert [pay(shop) for _ in range(5)] == ["succeeded"] * 4 + ["requires_action"]
    assert NonSecureDay.objects.get().day == today()
    assert_our_own_books_agree()


@pytest.mark.parametrize("next_day_has_begun", [True, False])
def test_a_failure_after_midnight_is_no_gain_of_the_next_day(
    next_day_has_begun: bool, shop: ApiClient
) -> None:
    advance_to(23, 50)
    yesterday = left_open(shop)
    advance_to(0, 1)
    if next_day_has_begun:
        pay(shop)

    settling.settle(attempts.KIND, yesterday, Outcome(Answer.DECLINED))

    assert taken() == (ONE if next_day_has_begun else 0)
    assert_our_own_books_agree()
    assert [pay(shop) for _ in range(5)].count("succeeded") == 4 - next_day_has_begun


def test_many_at_midnight_begin_one_day(shop: ApiClient) -> None:
    advance_to(23, 50)
    pay(shop)
    advance_to(0, 0)

    assert pay_at_once(shop, 12) == 4
    assert NonSecureDay.objects.get().day == today()
    assert_our_own_books_agree()


def test_who_read_the_clock_before_midnight_is_counted_by_the_day_that_has_begun(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance_to(0, 1)
    pay(shop)
    before_midnight = clock.now() - timedelta(minutes=2)
    monkeypatch.setattr(non_secure.clock, "now", lambda: before_midnight)

    statuses = [pay(shop) for _ in range(4)]

    assert statuses == ["succeeded"] * 3 + ["requires_action"]
    monkeypatch.undo()
    assert set(Attempt.objects.values_list("non_secure_day", flat=True)) == {today(), None}
    assert_our_own_books_agree()


def test_a_day_whose_midnight_comes_twice_begins_with_the_first(shop: ApiClient) -> None:
    # In Havana the clocks go from 01:00 of November's first Sunday back to 00:00.
    Merchant.objects.update(timezone="America/Havana")
    limit(shop, None)
    november = datetime(clock.now().year + 1, 11, 1, 4, 30, tzinfo=UTC)
    sunday = november + timedelta(days=6 - november.weekday())
    clock.advance(sunday - clock.now())
    pay(shop)
    clock.advance(timedelta(minutes=45))

    limit(shop, 4 * ONE)

    assert [pay(shop) for _ in range(4)] == ["succeeded"] * 3 + ["requires_action"]


def test_a_merchant_that_moves_west_does_not_get_its_day_twice(shop: ApiClient) -> None:
    advance_to(1, 0)
    assert [pay(shop) for _ in range(4)] == ["succeeded"] * 4

    accounts.change(shop.merchant, {"timezone": "America/New_York"}, reason="It has moved.")

    assert pay(shop) == "requires_action"
    advance_to(0, 1, ZoneInfo("America/New_York"))
    assert pay(shop) == "requires_action"  # This day of New York's was Istanbul's already.
    advance_to(0, 1, ZoneInfo("America/New_York"))
    assert pay(shop) == "succeeded"
    assert_our_own_books_agree()


def test_the_days_clock_is_the_movable_one(shop: ApiClient) -> None:
    pay(shop)
    first = today()
    clock.advance(timedelta(days=2))

    pay(shop)

    assert NonSecureDay.objects.get().day == today() == first + timedelta(days=2)
