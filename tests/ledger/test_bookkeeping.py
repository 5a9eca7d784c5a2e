"""Each example of docs/explanation/ledger.md gives the entries and the `net` written there.

The page has contract-money's table of bookkeeping, line by line.
"""

import re
from collections.abc import Callable
from datetime import date

import pytest
from django.conf import settings
from django.db import connection

from ledger import book
from ledger.models import Movement, Price
from tests.stage.book_keeping import Till, entries_of, price
from tests.stage.factories import MerchantFactory

pytestmark = pytest.mark.django_db

PAGE = (settings.BASE_DIR / "docs" / "explanation" / "ledger.md").read_text().replace("−", "-")
EXAMPLE = re.compile(r"^\| (.+?) \| `(\w+)` \| (.+?) \| ([+-]?\d+) \|$", re.M)
ENTRIES = re.compile(r"`(\w+)` ([+-]\d+(?:, [+-]\d+)*)")

Story = Callable[[Till], Movement]
STORIES: dict[str, Story] = {}


def plays(example: str) -> Callable[[Story], Story]:
    """Name the example that a story plays; the movement it returns is the example's."""

    def register(story: Story) -> Story:
        STORIES[example] = story
        return story

    return register


@pytest.fixture
def till() -> Till:
    """A merchant with the price of the examples."""
    merchant = MerchantFactory()
    price(merchant)
    return Till(merchant)


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("example", "kind", "written", "net"),
    [pytest.param(*row, id=row[0]) for row in EXAMPLE.findall(PAGE)],
)
def test_an_example_of_the_page_is_what_the_book_writes(
    example: str, kind: str, written: str, net: str, till: Till
) -> None:
    movement = STORIES[example](till)

    connection.check_constraints()  # As a commit would.
    expected = {name: [int(one) for one in of.split(",")] for name, of in ENTRIES.findall(written)}
    assert entries_of(movement) == expected
    assert (movement.kind, movement.net) == (kind, int(net))


def test_every_story_is_an_example_of_the_page() -> None:
    examples = [example for example, *_ in EXAMPLE.findall(PAGE)]

    assert sorted(examples) == sorted(STORIES)
    assert len(examples) > 30


def test_every_kind_of_movement_has_an_example() -> None:
    assert {kind for _, kind, *_ in EXAMPLE.findall(PAGE)} == set(Movement.Kind.values)


# --- Charges and settlement -------------------------------------------------------------------


@plays("10000 are charged")
def charged(till: Till) -> Movement:
    return till.charge(10000)


@plays("12000 and a surcharge of 600 are charged, due in three monthly parts")
def charged_in_parts(till: Till) -> Movement:
    return till.charge(12600, surcharge=600, parts=3)


@plays("the 10000 are settled")
def settled(till: Till) -> Movement:
    till.charge(10000)
    return settlement_of(till)


@plays("the first of three parts is settled")
def first_part_settled(till: Till) -> Movement:
    till.charge(12600, surcharge=600, parts=3)
    return settlement_of(till)


@plays("two charges with two dates are settled in one run")
def settled_together(till: Till) -> Movement:
    till.charge(10000)
    till.today = date(2026, 11, 3)
    till.charge(10000)
    return settlement_of(till)


def settlement_of(till: Till) -> Movement:
    run = till.settle()
    assert run is not None
    return Movement.objects.get(cause_id=run.id)


# --- Refunds and voids ------------------------------------------------------------------------


@plays("4000 of 10000 are refunded before they are settled")
def refunded(till: Till) -> Movement:
    return till.refund(richly_charged(till), 4000)


@plays("then the other 6000")
def refunded_wholly(till: Till) -> Movement:
    charge = richly_charged(till)
    till.refund(charge, 4000)
    return till.refund(charge, 6000)


@plays("4000 of 10000, where the price returns its fee")
def refunded_with_fee(till: Till) -> Movement:
    returning_fees(till)
    return till.refund(till.charge(10000), 4000)


@plays("then the other 6000, where the price returns its fee")
def refunded_wholly_with_fee(till: Till) -> Movement:
    returning_fees(till)
    charge = till.charge(10000)
    till.refund(charge, 4000)
    return till.refund(charge, 6000)


@plays("5000 of 12600, with its surcharge and three parts")
def refunded_with_surcharge(till: Till) -> Movement:
    return till.refund(charged_in_parts(till), 5000)


@plays("then the other 7600")
def refunded_wholly_with_surcharge(till: Till) -> Movement:
    till.topup(1000)
    charge = charged_in_parts(till)
    till.refund(charge, 5000)
    return till.refund(charge, 7600)


@plays("4000 of 10000 are refunded once they are settled")
def refunded_late(till: Till) -> Movement:
    charge = till.charge(10000)
    till.settle()
    return till.refund(charge, 4000)


@plays("the bank has paid a refund of 4000")
def refund_paid(till: Till) -> Movement:
    return till.then(refunded(till), book.refund_paid)


@plays("a refund of 4000 fails, or is canceled")
def refund_returned(till: Till) -> Movement:
    return till.then(refunded(till), book.refund_returned)


@plays("the refund of the other 6000 fails")
def last_refund_returned(till: Till) -> Movement:
    return till.then(refunded_wholly(till), book.refund_returned)


@plays("a paid refund of 4000 comes back")
def refund_bounced(till: Till) -> Movement:
    refund = refunded(till)
    till.then(refund, book.refund_paid)
    return till.then(refund, book.refund_bounced)


@plays("10000 are voided on the same day")
def voided(till: Till) -> Movement:
    return till.void(till.charge(10000))


@plays("the bank has voided them")
def void_paid(till: Till) -> Movement:
    return till.then(voided(till), book.refund_paid)


@plays("the void comes too late")
def void_undone(till: Till) -> Movement:
    return till.then(voided(till), book.void_undone)


@plays("and becomes a refund")
def void_become_refund(till: Till) -> Movement:
    till.topup(1000)
    undone = void_undone(till)
    return till.refund(undone, 10000, cause_id=undone.cause_id)


@plays("the bank refuses the void")
def void_refused(till: Till) -> Movement:
    return till.then(voided(till), book.refund_returned)


def richly_charged(till: Till) -> Movement:
    """10000, of a merchant that has funds for all of it."""
    till.topup(1000)
    return till.charge(10000)


def returning_fees(till: Till) -> None:
    Price.objects.filter(merchant=till.merchant).update(returns_fee=True)


@plays("340 of 10000 with `returns_fee`, after 9000 were disputed and lost")
def refunded_after_a_lost_dispute(till: Till) -> Movement:
    Price.objects.filter(merchant=till.merchant).update(returns_fee=True, bps=315)
    charge = richly_charged(till)
    till.then(till.dispute(charge, 9000), book.dispute_lost)
    return till.refund(charge, 340)


@plays("the 660 that are left of it")
def refunded_to_the_end_after_a_lost_dispute(till: Till) -> Movement:
    charge_id = refunded_after_a_lost_dispute(till).charge_id
    return till.refund(Movement.objects.get(charge_id=charge_id, kind="charge"), 660)


# --- Disputes ---------------------------------------------------------------------------------


@plays("10000 are disputed, and settled")
def disputed(till: Till) -> Movement:
    charge = till.charge(10000)
    till.settle()
    return till.dispute(charge, 10000)


@plays("10000 are disputed before they are settled")
def disputed_early(till: Till) -> Movement:
    return till.dispute(till.charge(10000), 10000)


@plays("12600 with their surcharge are disputed, and settled")
def disputed_with_surcharge(till: Till) -> Movement:
    charge = till.charge(12600, surcharge=600)
    till.settle()
    return till.dispute(charge, 12600)


@plays("the dispute about 10000 is won")
def won(till: Till) -> Movement:
    return till.then(disputed(till), book.dispute_won)


@plays("the dispute about 10000 is lost")
def lost(till: Till) -> Movement:
    return till.then(disputed(till), book.dispute_lost)


@plays("the dispute about 12600 is lost")
def lost_with_surcharge(till: Till) -> Movement:
    return till.then(disputed_with_surcharge(till), book.dispute_lost)


@plays("the dispute about 10000 was won, and is lost after all")
def lost_after_all(till: Till) -> Movement:
    dispute = disputed(till)
    till.then(dispute, book.dispute_won)
    return till.then(dispute, book.dispute_lost)


@plays("the dispute about 12600 was won, and is lost after all")
def lost_after_all_with_surcharge(till: Till) -> Movement:
    dispute = disputed_with_surcharge(till)
    till.then(dispute, book.dispute_won)
    return till.then(dispute, book.dispute_lost)


@plays("the dispute about 10000 is won after all")
def regained(till: Till) -> Movement:
    return till.then(lost(till), book.dispute_regained)


@plays("the dispute about 12600 is won after all")
def regained_with_surcharge(till: Till) -> Movement:
    return till.then(lost_with_surcharge(till), book.dispute_regained)


# --- Payouts and topups -----------------------------------------------------------------------


@plays("5000 are paid out")
def paid_out(till: Till) -> Movement:
    till.topup(5000)
    return till.payout(5000)


@plays("they have arrived")
def payout_paid(till: Till) -> Movement:
    return till.then(paid_out(till), book.payout_paid)


@plays("the payout fails")
def payout_returned(till: Till) -> Movement:
    return till.then(paid_out(till), book.payout_returned)


@plays("the payout is canceled")
def payout_canceled(till: Till) -> Movement:
    return till.then(paid_out(till), book.payout_canceled)


@plays("a paid payout comes back")
def payout_bounced(till: Till) -> Movement:
    return till.then(payout_paid(till), book.payout_bounced)


@plays("50000 are topped up")
def topped_up(till: Till) -> Movement:
    return till.topup(50000)


@plays("the topup is reversed")
def topup_reversed(till: Till) -> Movement:
    return till.then(topped_up(till), book.topup_reversed)


@plays("an operator writes 3000 off")
def written_off(till: Till) -> Movement:
    topup = till.topup(3000)
    till.payout(3000)
    till.then(topup, book.topup_reversed)
    return till.write_off()
