"""Cards, addresses and networks are recognised while the keys of their fingerprints change."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError
from pytest_django import DjangoAssertNumQueries

from audit import keys as audit_keys
from core import clock
from merchants.models import User
from payments.intents.models import Attempt
from payments.risk import fingerprints, lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import DECLINED_CARD, GOOD_CARD
from tests.stage.key_change import KeyChange, PurposeChange
from tests.stage.risky import (
    APPROVED,
    BLOCKED,
    PAID,
    attempt_of,
    ended,
    paid_by,
    set_rule,
    typed,
)
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WEEK = timedelta(days=7, hours=1)
EMAIL = "ayse@example.com"


@pytest.fixture
def change(key_change: KeyChange, request: pytest.FixtureRequest) -> PurposeChange:
    return PurposeChange(key_change.path, getattr(request, "param", fingerprints.CARD))


def of(purpose: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("change", [purpose], indirect=True)


def begin(change: PurposeChange) -> None:
    """Change the key as it is done after a day: cards of before the change are destroyed."""
    change.add()
    SealedCard.objects.update(sealed=None, destroyed_at=clock.now())
    change.promote()


@pytest.fixture
def operator() -> User:
    user = User.objects.create_user("operator@pay.example", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="manage_lists"))
    return User.objects.get(pk=user.pk)


def block_card(operator: User, client: ApiClient) -> ListEntry:
    attempt = attempt_of(paid_by(client, GOOD_CARD))
    assert attempt.card_fingerprint
    shown = attempt.card["masked"]
    entry = BlockEntry("block", "card", attempt.card_fingerprint, "Because.", shown=shown)
    return lists.add(operator, client.merchant, entry)


def block_email(operator: User, client: ApiClient) -> ListEntry:
    return lists.add(operator, client.merchant, BlockEntry("block", "email", EMAIL, "Because."))


# --- Rules ------------------------------------------------------------------------------------


@of(fingerprints.CARD)
def test_a_card_that_was_declined_before_the_change_is_the_same_card(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    set_rule(acme.merchant, "card_declines", "block", 1)
    earlier = attempt_of(paid_by(acme, DECLINED_CARD))
    begin(change)

    again = paid_by(acme, DECLINED_CARD)

    assert ended(again) == BLOCKED
    written = attempt_of(again).card_fingerprint or ""
    assert written.startswith(f"{change.new.partition('-')[2]}.")
    earlier.refresh_from_db()
    assert earlier.card_fingerprint == written


@of(fingerprints.EMAIL)
def test_an_address_is_counted_over_the_change(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    set_rule(acme.merchant, "email_velocity", "block", 1)
    assert ended(paid_by(acme, APPROVED[0], EMAIL)) == PAID
    change.begin()

    assert ended(paid_by(acme, APPROVED[1], EMAIL.upper())) == BLOCKED
    assert ended(paid_by(acme, APPROVED[2], "another@example.com")) == PAID


def test_a_card_of_before_and_after_the_change_counts_once(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    set_rule(acme.merchant, "email_cards", "block", 3)
    for number in APPROVED[:2]:
        assert ended(paid_by(acme, number, EMAIL)) == PAID
    begin(change)
    for number in APPROVED[:2]:
        assert ended(paid_by(acme, number, EMAIL)) == PAID

    assert [ended(paid_by(acme, number, EMAIL)) for number in APPROVED[2:4]] == [PAID, BLOCKED]


@of(fingerprints.NETWORK)
def test_a_network_is_counted_over_the_change(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    set_rule(acme.merchant, "address_declines", "block", 1)
    typed(acme, DECLINED_CARD, network="203.0.113.7")
    change.begin()

    typed(acme, APPROVED[0], network="203.0.113.7")

    assert Attempt.objects.latest("created_at").is_counted is False


# --- Lists ------------------------------------------------------------------------------------


def test_a_listed_card_is_blocked_and_renewed_when_it_is_met(
    acme: ApiClient, bank: BankTransport, operator: User, change: PurposeChange
) -> None:
    entry = block_card(operator, acme)
    begin(change)
    change.retire(ago=WEEK)
    with pytest.raises(CommandError, match="1 list entries of kind card are of it"):
        change.purge()

    assert ended(paid_by(acme, GOOD_CARD)) == BLOCKED
    change.purge()

    entry.refresh_from_db()
    assert entry.value.startswith(f"{change.new.partition('-')[2]}.")
    assert ended(paid_by(acme, GOOD_CARD)) == BLOCKED


@of(fingerprints.EMAIL)
def test_a_listed_address_is_blocked_and_stays_one_entry(
    acme: ApiClient, bank: BankTransport, operator: User, change: PurposeChange
) -> None:
    block_email(operator, acme)
    change.begin()
    block_email(operator, acme)

    [entry] = ListEntry.objects.all()
    assert entry.value == fingerprints.of_email(acme.merchant.id, EMAIL)
    assert ended(paid_by(acme, GOOD_CARD, EMAIL)) == BLOCKED


def test_a_card_of_a_purged_key_is_not_listed(
    acme: ApiClient, bank: BankTransport, operator: User, change: PurposeChange
) -> None:
    paid = attempt_of(paid_by(acme, GOOD_CARD))
    begin(change)
    change.retire(ago=WEEK)
    change.purge()

    entry = BlockEntry("block", "card", paid.card_fingerprint or "", "Because.", shown="4242")
    with pytest.raises(lists.EntryUnusable):
        lists.add(operator, acme.merchant, entry)


# --- The change -------------------------------------------------------------------------------


def test_a_key_waits_for_cards_that_are_not_known_under_it(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    paid_by(acme)
    change.add()
    paid_by(acme)  # Known under both.

    with pytest.raises(CommandError, match=f"1 cards were sealed before {change.new} was added"):
        change.promote()


@pytest.mark.parametrize(
    "change", [fingerprints.CARD, fingerprints.EMAIL, fingerprints.NETWORK], indirect=True
)
def test_a_key_is_needed_as_long_as_a_rule_may_count(change: PurposeChange) -> None:
    change.begin()
    change.retire()
    with pytest.raises(CommandError, match="attempts that rules count may have been made with it"):
        change.purge()


def test_a_payment_takes_no_statement_more_while_a_key_changes(
    acme: ApiClient,
    bank: BankTransport,
    change: PurposeChange,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    set_rule(acme.merchant, "card_velocity", "block", 9)
    paid_by(acme)
    with django_assert_max_num_queries(1000) as usual:
        paid_by(acme)
        count = len(usual)
    assert count > 10
    begin(change)
    paid_by(acme)

    with django_assert_max_num_queries(count):
        assert ended(paid_by(acme)) == PAID


@pytest.mark.parametrize("noun", ["attempt", "list entry"])
def test_the_audit_finds_a_row_under_a_purged_key(
    noun: str, acme: ApiClient, bank: BankTransport, operator: User
) -> None:
    paid_by(acme)
    block_email(operator, acme)
    assert audit_keys.check().differences == []
    planted = f"0123456789.{'a' * 64}"
    if noun == "attempt":
        Attempt.objects.update(card_fingerprint=planted)
    else:
        ListEntry.objects.update(value=planted)

    [difference] = audit_keys.check().differences

    assert difference.startswith(noun)
    assert "fingerprint-0123456789, which the key ring lacks" in difference
