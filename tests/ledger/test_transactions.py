"""Balance transactions: what changed a merchant's balance, and when it is available."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core import clock
from ledger import book
from ledger.models import Movement
from merchants import keys
from merchants.models import Merchant
from tests.stage.bank_transport import BankTransport
from tests.stage.book_keeping import CAPTURED_ON, Till, price
from tests.stage.client import ApiClient

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/balance_transactions"
ISTANBUL = ZoneInfo("Europe/Istanbul")
TYPES = Movement.Type


@pytest.fixture
def till(acme: ApiClient) -> Till:
    """The money of Acme, whose price is that of the examples."""
    price(acme.merchant)
    return Till(acme.merchant)


def listed(client: ApiClient, query: str = "") -> list[dict]:
    return client.get(f"{PATH}?limit=100&{query}")["data"]


def ids(client: ApiClient, query: str) -> list[str]:
    return [row["id"] for row in listed(client, query)]


def shown(client: ApiClient, movement: Movement) -> dict:
    answer = client.get(f"{PATH}/{movement.id}")
    assert answer.status == 200, answer.body
    return answer.body


def unix(day: date) -> int:
    """Return the second in which a day begins in Istanbul."""
    return int(datetime.combine(day, datetime.min.time(), ISTANBUL).timestamp())


# --- One of them --------------------------------------------------------------------------------


def test_a_charge_is_shown_with_its_payment_its_fee_and_its_date(
    acme: ApiClient, bank: BankTransport
) -> None:
    price(acme.merchant)
    paid = acme.pay()
    today = clock.now().astimezone(ISTANBUL).date()

    [charge] = listed(acme)

    days = {4: 3, 5: 2}.get(today.weekday(), 1)  # Friday and Saturday: until Monday.
    assert charge == {
        "id": charge["id"],
        "object": "balance_transaction",
        "amount": 12500,
        "fee": 338,
        "net": 12162,
        "currency": "try",
        "type": "charge",
        "source": paid["id"],
        "description": None,
        "available_on": unix(today + timedelta(days=days)),
        "status": "pending",
        "created": charge["created"],
        "livemode": False,
    }
    assert list(charge)[:8] == [
        "id",
        "object",
        "amount",
        "fee",
        "net",
        "currency",
        "type",
        "source",
    ]
    assert shown(acme, Movement.objects.get()) == charge


Story = Callable[[Till], Movement]


def refunded(till: Till) -> Movement:
    return till.refund(till.charge(10000), 4000)


def lost(till: Till) -> Movement:
    return till.then(till.dispute(till.charge(10000), 10000), book.dispute_lost)


def paid_out(till: Till) -> Movement:
    till.topup(5000)
    return till.payout(5000)


# A story, and the type, amount and fee of its last movement.
SHOWN: list[tuple[str, Story, tuple[str, int, int]]] = [
    ("charge", lambda t: t.charge(10000), ("charge", 10000, 275)),
    ("charge with surcharge", lambda t: t.charge(12600, surcharge=600), ("charge", 12000, 325)),
    ("refund", refunded, ("refund", -4000, 0)),
    ("refund of surcharge", lambda t: t.refund(t.charge(12600, surcharge=600), 5000),
     ("refund", -4762, 0)),
    ("void", lambda t: t.void(t.charge(10000)), ("refund", -10000, -275)),
    ("refund returned", lambda t: t.then(refunded(t), book.refund_returned),
     ("refund_failure", 4000, 0)),
    ("refund bounced", lambda t: t.then(t.then(refunded(t), book.refund_paid), book.refund_bounced),
     ("refund_failure", 4000, 0)),
    ("void undone", lambda t: t.then(t.void(t.charge(10000)), book.void_undone),
     ("refund_failure", 10000, 275)),
    ("dispute", lambda t: t.dispute(t.charge(10000), 10000), ("dispute", -10000, 0)),
    ("dispute won", lambda t: t.then(t.dispute(t.charge(10000), 10000), book.dispute_won),
     ("dispute_reversal", 10000, 0)),
    ("dispute regained", lambda t: t.then(lost(t), book.dispute_regained),
     ("dispute_reversal", 10000, 0)),
    ("payout", paid_out, ("payout", -5000, 0)),
    ("payout failed", lambda t: t.then(paid_out(t), book.payout_returned),
     ("payout_failure", 5000, 0)),
    ("payout canceled", lambda t: t.then(paid_out(t), book.payout_canceled),
     ("payout_cancel", 5000, 0)),
    ("payout bounced", lambda t: t.then(t.then(paid_out(t), book.payout_paid), book.payout_bounced),
     ("payout_failure", 5000, 0)),
    ("topup", lambda t: t.topup(50000), ("topup", 50000, 0)),
    ("topup reversed", lambda t: t.then(t.topup(50000), book.topup_reversed),
     ("topup_reversal", -50000, 0)),
    ("write off", lambda t: (t.dispute(t.charge(3000), 3000), t.write_off())[1],
     ("adjustment", 100, 0)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("story", "expected"), [one[1:] for one in SHOWN], ids=[o[0] for o in SHOWN]
)
def test_a_movement_is_shown_by_its_type(
    story: Story, expected: tuple[str, int, int], till: Till, acme: ApiClient
) -> None:
    movement = story(till)

    row = shown(acme, movement)
    kind, amount, fee = expected
    assert (row["type"], row["amount"], row["fee"]) == (kind, amount, fee)
    assert row["net"] == amount - fee == movement.net
    assert row["source"] == movement.cause_id


def test_every_type_is_shown() -> None:
    assert {expected[0] for _name, _story, expected in SHOWN} == set(TYPES.values)


HIDDEN: list[tuple[str, Story]] = [
    ("refund paid", lambda t: t.then(refunded(t), book.refund_paid)),
    ("dispute lost", lost),
    ("payout paid", lambda t: t.then(paid_out(t), book.payout_paid)),
    ("a charge that is all fee", lambda t: t.charge(20)),
]  # fmt: skip


@pytest.mark.parametrize("story", [one[1] for one in HIDDEN], ids=[one[0] for one in HIDDEN])
def test_what_changes_no_balance_is_none(story: Story, till: Till, acme: ApiClient) -> None:
    movement = story(till)

    assert acme.get(f"{PATH}/{movement.id}").refusal == (404, "resource_missing", None)
    assert movement.id not in ids(acme, "")


def test_their_net_sums_to_pending_and_available(till: Till, acme: ApiClient) -> None:
    charge = till.charge(12600, surcharge=600, parts=3)
    till.refund(charge, 5000)
    till.settle()
    till.dispute(charge, 2000)
    till.topup(700)
    till.then(till.payout(300), book.payout_paid)

    balance = acme.get("/v1/balance")

    held = balance["pending"][0]["amount"] + balance["available"][0]["amount"]
    assert sum(row["net"] for row in listed(acme)) == held != 0


# --- When it is available -----------------------------------------------------------------------


def test_it_is_available_once_its_last_date_is_settled(till: Till, acme: ApiClient) -> None:
    charge = till.charge(9000, parts=2)
    told = [(shown(acme, charge)["status"], shown(acme, charge)["available_on"])]
    for days in (1, 30):
        till.settle(days=days)
        told.append((shown(acme, charge)["status"], shown(acme, charge)["available_on"]))

    last = unix(date(2026, 12, 3))
    assert till.today == date(2026, 12, 3)
    assert told == [("pending", last), ("pending", last), ("available", last)]


def test_a_refund_is_pending_as_long_as_the_charge_that_it_takes_from(
    till: Till, acme: ApiClient
) -> None:
    refund = till.refund(till.charge(10000), 4000)
    before = shown(acme, refund)["status"]
    till.settle()

    assert (before, shown(acme, refund)["status"]) == ("pending", "available")


def test_a_refund_that_comes_back_late_is_pending_until_the_next_run(
    till: Till, acme: ApiClient
) -> None:
    paid = till.then(till.refund(till.charge(10000), 4000), book.refund_paid)
    till.settle()
    bounced = till.then(paid, book.refund_bounced)
    before = shown(acme, bounced)
    till.settle()

    assert (before["status"], shown(acme, bounced)["status"]) == ("pending", "available")
    assert before["available_on"] == unix(CAPTURED_ON + timedelta(days=1))


@pytest.mark.parametrize(
    ("hour", "day"), [(20, date(2026, 11, 1)), (21, date(2026, 11, 2))], ids=["before", "after"]
)
def test_what_was_never_pending_is_available_on_its_own_day(
    hour: int, day: date, till: Till, acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime(2026, 11, 1, hour, 30, tzinfo=ZoneInfo("UTC"))
    monkeypatch.setattr(clock, "now", lambda: moment)

    row = shown(acme, till.topup(700))

    assert (row["status"], row["available_on"]) == ("available", unix(day))
    assert row["created"] == int(moment.timestamp())


# --- The list -----------------------------------------------------------------------------------


@pytest.fixture
def five(till: Till, globex: ApiClient) -> list[str]:
    """Acme's transactions, newest first: a charge, its refund, two topups and one in euros."""
    Till(globex.merchant).topup(1)
    charge = till.charge(10000)
    made = [charge, till.refund(charge, 4000), till.topup(700), till.topup(50)]
    made.append(Till(till.merchant, "eur").topup(90))
    return [movement.id for movement in made][::-1]


def test_they_are_listed_newest_first(five: list[str], acme: ApiClient) -> None:
    assert ids(acme, "") == five


@pytest.mark.parametrize(
    ("query", "which"),
    [
        ("type=topup", [0, 1, 2]),
        ("type=refund", [3]),
        ("type=payout", []),
        ("currency=EUR", [0]),
        ("currency=try&type=topup", [1, 2]),
        ("sort=amount", [3, 1, 0, 2, 4]),
        ("sort=-amount&type=topup", [2, 0, 1]),
        ("sort=created", [4, 3, 2, 1, 0]),
        ("created[gte]=1", [0, 1, 2, 3, 4]),
        ("created[lt]=1", []),
        ("source=re_unknown", []),
    ],
)
def test_they_are_filtered_and_sorted(
    query: str, which: list[int], five: list[str], acme: ApiClient
) -> None:
    assert ids(acme, query) == [five[place] for place in which]


def test_they_are_found_by_their_source(acme: ApiClient, bank: BankTransport) -> None:
    acme.pay()
    wanted = acme.pay()["id"]

    [found] = listed(acme, f"source={wanted}")

    assert (found["source"], found["type"]) == (wanted, "charge")


def test_a_foreign_source_finds_as_little_as_an_unknown_one(
    five: list[str], acme: ApiClient, globex: ApiClient
) -> None:
    source = listed(acme)[0]["source"]

    assert ids(acme, f"source={source}") == five[:1]
    assert ids(globex, f"source={source}") == ids(globex, "source=tu_unknown") == []


# The third, its first second, and the numbers beside that second.
THIRD = date(2026, 11, 3)
BEGINS = unix(THIRD)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"available_on={BEGINS}", True), (f"available_on={BEGINS + 1}", False),
        (f"available_on={BEGINS - 1}", False),
        (f"available_on[gte]={BEGINS}", True), (f"available_on[gte]={BEGINS + 1}", False),
        (f"available_on[gte]={BEGINS - 1}", True),
        (f"available_on[gt]={BEGINS}", False), (f"available_on[gt]={BEGINS - 1}", True),
        (f"available_on[lte]={BEGINS}", True), (f"available_on[lte]={BEGINS - 1}", False),
        (f"available_on[lte]={BEGINS + 1}", True),
        (f"available_on[lt]={BEGINS}", False), (f"available_on[lt]={BEGINS + 1}", True),
        (f"available_on[gt]={BEGINS - 1}&available_on[lt]={BEGINS + 1}", True),
        ("available_on[lt]=0", False), ("available_on[lte]=99999999999", True),
    ],
)  # fmt: skip
def test_they_are_filtered_by_the_second_in_which_their_day_begins(
    query: str, found: bool, till: Till, acme: ApiClient
) -> None:
    charge = till.charge(10000)
    assert shown(acme, charge)["available_on"] == BEGINS

    assert ids(acme, query) == ([charge.id] if found else [])
    assert acme.get(f"{PATH}?{query}&include[]=total_count")["total_count"] == int(found)


# In Cairo the clocks go from the end of this Thursday to 01:00 of Friday.
NO_MIDNIGHT = int(datetime(2026, 4, 23, 22, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"={NO_MIDNIGHT}", True), (f"[gte]={NO_MIDNIGHT}", True), (f"[gt]={NO_MIDNIGHT}", False),
        (f"[lte]={NO_MIDNIGHT}", True), (f"[lt]={NO_MIDNIGHT}", False),
        (f"={NO_MIDNIGHT - 1}", False), (f"={NO_MIDNIGHT + 3600}", False),
    ],
)  # fmt: skip
def test_a_day_without_midnight_is_filtered_as_others(
    query: str, found: bool, till: Till, acme: ApiClient
) -> None:
    Merchant.objects.update(timezone="Africa/Cairo")
    till.today = date(2026, 4, 23)
    charge = till.charge(10000)
    assert shown(acme, charge)["available_on"] == NO_MIDNIGHT

    assert ids(acme, f"available_on{query}") == ([charge.id] if found else [])


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("type=settlement", "type"), ("type[]=topup", "type[]"), ("status=pending", "status"),
        ("sort=available_on", "sort"), ("available_on=x", "available_on"),
        ("amount[gte]=1", "amount[gte]"), ("source[]=tu_1", "source[]"),
        ("expand[]=source", "expand[]"),
    ],
)  # fmt: skip
def test_what_it_does_not_know_it_refuses(query: str, param: str, acme: ApiClient) -> None:
    assert acme.get(f"{PATH}?{query}").refusal == (400, "parameter_invalid", param)


def test_foreign_ones_are_as_unknown_as_made_up_ones(five: list[str], globex: ApiClient) -> None:
    for one in (five[0], "txn_unknown", "x"):
        assert globex.get(f"{PATH}/{one}").refusal == (404, "resource_missing", None)
        cursor = globex.get(f"{PATH}?starting_after={one}")
        assert cursor.refusal == (404, "resource_missing", "starting_after")


def test_pages_follow_each_other(five: list[str], acme: ApiClient) -> None:
    first = acme.get(f"{PATH}?limit=2")
    second = acme.get(f"{PATH}?limit=2&starting_after={five[1]}")
    back = acme.get(f"{PATH}?limit=2&ending_before={five[3]}")

    assert [row["id"] for row in first["data"]] == five[:2]
    assert [row["id"] for row in second["data"]] == five[2:4]
    assert [row["id"] for row in back["data"]] == five[1:3]
    assert (first["has_more"], first["url"]) == (True, PATH)


def test_a_page_takes_as_many_statements_as_one_row(five: list[str], acme: ApiClient) -> None:
    counts = []
    acme.get(PATH)  # The key's first use is written down.
    for limit in (1, 5):
        with CaptureQueriesContext(connection) as statements:
            assert len(acme.get(f"{PATH}?limit={limit}")["data"]) == limit
        counts.append(len(statements))

    assert counts[0] == counts[1]


# --- Who may read it ----------------------------------------------------------------------------


def with_scopes(client: ApiClient, **scopes: str) -> ApiClient:
    _key, secret = keys.create(client.merchant, name="scoped", scopes=scopes)
    return client.twin(secret)


def test_the_balance_is_every_keys_and_its_transactions_need_a_scope(
    five: list[str], acme: ApiClient
) -> None:
    without, reader = with_scopes(acme, balance="none"), with_scopes(acme, balance="read")

    assert without.get("/v1/balance").status == 200
    for path in (PATH, f"{PATH}/{five[0]}"):
        assert without.get(path).refusal == (403, "permission_denied", None)
        assert reader.get(path).status == 200
