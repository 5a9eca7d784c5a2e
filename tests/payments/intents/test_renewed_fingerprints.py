"""Fingerprints of earlier keys are made again in chunks, and payers stay who they are."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError

from core import clock, heartbeat, keyring
from core.keyring import SealBroken, renewals
from core.keyring.needs import Retired
from merchants.models import Merchant, User
from payments.charging import card_renewal
from payments.intents.models import Attempt
from payments.risk import entry_renewal, fingerprints, lists
from payments.risk.lists import BlockEntry
from payments.risk.models import ListEntry
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD
from tests.stage.key_change import KeyChange, Killed, PurposeChange, killed_after, rotate
from tests.stage.risky import APPROVED, BLOCKED, PAID, attempt_of, ended, paid_by, set_rule
from tests.stage.teams import person, signed_in
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# The heartbeat has a connection of its own.
beside_others = pytest.mark.django_db(transaction=True, databases=["default", "bank"])

WEEK = timedelta(days=7, hours=1)
EMAIL = "ayse@example.com"


@pytest.fixture
def change(key_change: KeyChange, request: pytest.FixtureRequest) -> PurposeChange:
    return PurposeChange(key_change.path, getattr(request, "param", fingerprints.CARD))


@pytest.fixture(autouse=True)
def _this_process_ends() -> Iterator[None]:
    yield
    heartbeat.end()


def of(purpose: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("change", [purpose], indirect=True)


@pytest.fixture
def operator() -> User:
    user = User.objects.create_user("operator@pay.example", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="manage_lists"))
    return User.objects.get(pk=user.pk)


def promote(change: PurposeChange) -> None:
    """Change the key as it is done after a day: cards of before the change are destroyed."""
    SealedCard.objects.update(sealed=None, destroyed_at=clock.now())
    change.promote()


def listed(operator: User, merchant: Merchant | None, email: str) -> ListEntry:
    return lists.add(operator, merchant, BlockEntry("block", "email", email, "Because."))


def part(change: PurposeChange) -> str:
    return f"{change.new.partition('-')[2]}."


def under(change: PurposeChange) -> int:
    return ListEntry.objects.filter(value__startswith=part(change)).count()


# --- E-mails of lists -------------------------------------------------------------------------


@beside_others
@of(fingerprints.EMAIL)
def test_listed_addresses_are_renewed_by_a_rotation_and_their_key_goes(
    acme: ApiClient, bank: BankTransport, operator: User, change: PurposeChange
) -> None:
    for merchant in (acme.merchant, None):
        listed(operator, merchant, EMAIL.upper())
    change.begin()
    change.retire(ago=WEEK)
    with pytest.raises(CommandError, match="2 list entries of kind email are of it"):
        change.purge()

    assert "list entries: 2 renewed" in rotate()
    change.purge()

    assert under(change) == 2
    assert ended(paid_by(acme, GOOD_CARD, EMAIL)) == BLOCKED
    assert "list entries" not in rotate()


@of(fingerprints.EMAIL)
def test_a_renewal_that_is_killed_goes_on(
    operator: User, change: PurposeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        listed(operator, None, f"payer{number}@example.com")
    change.begin()
    monkeypatch.setattr(entry_renewal, "CHUNK", 2)
    with monkeypatch.context() as patched:
        patched.setattr(entry_renewal, "_renew_some", killed_after(2, entry_renewal._renew_some))
        with pytest.raises(Killed):
            entry_renewal.renew()
    assert under(change) == 4

    assert entry_renewal.renew() == 1

    assert under(change) == 5


@of(fingerprints.EMAIL)
def test_a_renewal_killed_inside_a_chunk_leaves_that_chunk_as_it_was(
    operator: User, change: PurposeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        listed(operator, None, f"payer{number}@example.com")
    change.begin()
    with monkeypatch.context() as patched:
        patched.setattr(lists, "renew", killed_after(2, lists.renew))
        with pytest.raises(Killed):
            entry_renewal.renew()
    assert under(change) == 0

    assert entry_renewal.renew() == 3


@of(fingerprints.EMAIL)
def test_a_rotation_of_yesterday_turns_no_entry_back(
    operator: User, change: PurposeChange, settings: Any, tmp_path: Path
) -> None:
    change.add()
    yesterdays = shutil.copy(change.path, tmp_path / "yesterdays")
    listed(operator, None, EMAIL)
    change.promote()
    entry_renewal.renew()
    settings.KEYRING_FILE = Path(yesterdays)
    keyring.ring.cache_clear()

    assert entry_renewal.renew() == 0

    assert under(change) == 1


@of(fingerprints.EMAIL)
def test_an_entry_that_does_not_open_holds_up_no_other(
    operator: User, change: PurposeChange
) -> None:
    broken, sound = (listed(operator, None, f"{name}@example.com") for name in "ab")
    ListEntry.objects.filter(pk=broken.pk).update(sealed=b"\x01\x00broken")
    change.begin()

    assert entry_renewal.renew() == 1

    sound.refresh_from_db()
    assert sound.value.startswith(part(change))
    retired = Retired(change.old, change.purpose, clock.now())
    [need] = lists.entries_need("email")(retired)
    assert need.startswith("1 list entries of kind email are of it")


@of(fingerprints.EMAIL)
def test_of_two_entries_of_one_address_each_stays(operator: User, change: PurposeChange) -> None:
    earlier = listed(operator, None, EMAIL)
    change.begin()
    value = earlier.value
    ListEntry.objects.filter(pk=earlier.pk).update(value="f" * 64)
    listed(operator, None, EMAIL)  # As by two processes at the same moment.
    ListEntry.objects.filter(pk=earlier.pk).update(value=value)

    assert entry_renewal.renew() == 0

    assert (ListEntry.objects.count(), under(change)) == (2, 1)


def test_what_is_listed_is_sealed_with_its_list(operator: User, acme: ApiClient) -> None:
    entry = listed(operator, acme.merchant, EMAIL)
    other = listed(operator, None, "other@example.com")

    assert entry_renewal.address_of(entry) == EMAIL
    ListEntry.objects.filter(pk=other.pk).update(sealed=entry.sealed)
    other.refresh_from_db()
    with pytest.raises(SealBroken):
        entry_renewal.address_of(other)


# --- Cards ------------------------------------------------------------------------------------


def given_under_both(client: ApiClient, change: PurposeChange, number: str) -> None:
    """Pay by processes of both rings, as while they are started again."""
    paid_by(client, number, EMAIL)
    change.promote()
    paid_by(client, number, EMAIL)


@beside_others
def test_a_card_under_two_keys_is_one_card_once_it_is_renewed(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    change.add()
    given_under_both(acme, change, APPROVED[0])  # No rule is on: none is renewed as it is met.
    assert Attempt.objects.values("card_fingerprint").distinct().count() == 2
    set_rule(acme.merchant, "email_cards", "block", 2)

    assert "attempts: 1 renewed" in rotate()

    assert Attempt.objects.values("card_fingerprint").distinct().count() == 1
    assert ended(paid_by(acme, APPROVED[1], EMAIL)) == PAID
    assert ended(paid_by(acme, APPROVED[2], EMAIL)) == BLOCKED


def test_a_renewal_of_attempts_that_is_killed_goes_on(
    acme: ApiClient, bank: BankTransport, change: PurposeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    change.add()
    for number in APPROVED[:3]:
        paid_by(acme, number, EMAIL)
    change.promote()
    monkeypatch.setattr(card_renewal, "CHUNK", 1)
    with monkeypatch.context() as patched:
        patched.setattr(card_renewal, "_renew_some", killed_after(1, card_renewal._renew_some))
        with pytest.raises(Killed):
            card_renewal.renew()
    assert Attempt.objects.filter(card_fingerprint__startswith=part(change)).count() == 1

    assert card_renewal.renew() == 2


def test_attempts_older_than_a_rule_counts_are_left_as_they_are(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    change.add()
    paid_by(acme)
    clock.advance(WEEK)
    promote(change)

    assert card_renewal.renew() == 0


def test_a_listed_card_is_renewed_without_being_met_if_it_was_given_under_both(
    acme: ApiClient, bank: BankTransport, operator: User, change: PurposeChange
) -> None:
    change.add()
    paid = attempt_of(paid_by(acme, GOOD_CARD))
    entry = BlockEntry("block", "card", paid.card_fingerprint or "", "Because.", shown="4242")
    lists.add(operator, acme.merchant, entry)
    promote(change)

    assert entry_renewal.renew() == 1

    assert ended(paid_by(acme, GOOD_CARD)) == BLOCKED


# --- A payer's blocks in the panel ------------------------------------------------------------


@beside_others
@pytest.mark.parametrize("step", ["met", "purged"])
def test_the_block_of_a_card_shows_at_its_payments_of_before_and_after_the_change(
    step: str, acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))
    before = acme.pay()["id"]
    form = {"kind": "card", "reason": "Chargebacks", "token": "t"}
    change.add()
    between = acme.pay()["id"]
    support.post(at(acme, before, "/block"), form)
    promote(change)
    if step == "met":
        assert ended(after := acme.pay()) == BLOCKED
        pages = [before, between, after["id"]]
    else:
        rotate()
        change.retire(ago=WEEK)
        change.purge()
        pages = [before, between]

    for payment in pages:
        assert "Chargebacks" in support.get(at(acme, payment)).content.decode()
    let_in = {"reason": "A mistake", "token": "u"}
    assert support.post(at(acme, before, "/unblock"), let_in).status_code == 303
    assert not ListEntry.objects.exists()


def test_a_card_of_before_the_change_is_blocked_under_the_primary_key(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    support = signed_in(person("sue@acme.example", (acme.merchant, "support")))
    change.add()
    before = acme.pay()["id"]
    promote(change)
    form: dict[str, Any] = {"kind": "card", "reason": "Chargebacks", "token": "t"}

    support.post(at(acme, before, "/block"), form)
    support.post(at(acme, before, "/block"), {**form, "reason": "Again", "token": "u"})

    [entry] = ListEntry.objects.all()
    assert (entry.value.startswith(part(change)), entry.reason) == (True, "Again")
    assert ended(acme.pay()) == BLOCKED


def at(client: ApiClient, payment_id: str, act: str = "") -> str:
    return f"/panel/{client.merchant.id}/payments/{payment_id}{act}"


# --- The register -----------------------------------------------------------------------------


def test_each_kind_of_row_that_can_be_made_again_is_registered() -> None:
    assert renewals.names() == ["attempts", "list entries", "second factors"]
