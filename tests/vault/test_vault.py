import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.core.management import CommandError, call_command, execute_from_command_line
from django.core.management.base import SystemCheckError
from django.db import IntegrityError
from django.test import RequestFactory
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from core.cards import CardData
from core.keyring import SealBroken
from core.redis import client
from merchants.models import Merchant
from vault import cards, cvc
from vault.models import SealedCard
from vault.reveal import CardDestroyed, reveal

VISA = "4242424242424242"
NOW = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
TOKEN = "tok_0VvT000000000000000000aa"


def merchant(name: str) -> Merchant:
    return Merchant.objects.create(
        id=f"mer_{name}",
        name=name,
        email=f"{name}@example.com",
        country="TR",
        default_currency="try",
        timezone="Europe/Istanbul",
        api_version="2026-11-01",
        created_at=NOW,
    )


@pytest.fixture
def acme(db: None) -> Merchant:
    return merchant("acme")


@pytest.fixture
def globex(db: None) -> Merchant:
    return merchant("globex")


@pytest.fixture
def card() -> CardData:
    return CardData(VISA, 12, 2030, cvc="987", holder_name="Ada Lovelace")


@pytest.fixture
def sealed(acme: Merchant, card: CardData) -> SealedCard:
    cards.seal(acme.pk, card, now=NOW)
    return SealedCard.objects.get()


@pytest.fixture
def redis_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nobody = Redis.from_url(f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setattr("core.redis.client", lambda: nobody)


def test_a_sealed_card_is_revealed_without_its_cvc(sealed: SealedCard) -> None:
    card = reveal(sealed)

    assert (card.number, card.exp_month, card.exp_year) == (VISA, 12, 2030)
    assert card.holder_name == "Ada Lovelace"
    assert card.cvc is None


def test_the_row_shows_first_six_and_last_four_only(sealed: SealedCard) -> None:
    row = str(SealedCard.objects.values_list().get())

    assert (sealed.bin, sealed.last4) == ("424242", "4242")
    assert VISA not in row
    assert "987" not in (sealed.bin, sealed.last4)
    assert "Lovelace" not in row


def test_sealing_is_one_insert(
    acme: Merchant, card: CardData, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        row = cards.seal(acme.pk, card, now=NOW)

    assert row.token.startswith("tok_")


def test_a_sealed_card_moved_to_another_merchant_does_not_open(
    sealed: SealedCard, globex: Merchant
) -> None:
    SealedCard.objects.update(merchant=globex)

    with pytest.raises(SealBroken):
        reveal(SealedCard.objects.get())


def test_a_number_moved_to_another_card_does_not_open(
    sealed: SealedCard, acme: Merchant, card: CardData
) -> None:
    other = cards.seal(acme.pk, card, now=NOW)
    other.sealed = sealed.sealed

    with pytest.raises(SealBroken):
        reveal(other)


def test_a_destroyed_card_is_not_revealed(sealed: SealedCard) -> None:
    SealedCard.objects.update(sealed=None, destroyed_at=NOW)

    with pytest.raises(CardDestroyed):
        reveal(SealedCard.objects.get())


def test_equal_numbers_have_equal_fingerprints_within_one_merchant_only() -> None:
    acme = cards.fingerprint("mer_acme", VISA)

    assert acme == cards.fingerprint("mer_acme", VISA)
    assert acme != cards.fingerprint("mer_globex", VISA)
    assert acme != cards.fingerprint("mer_acme", "4111111111111111")


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"sealed": None}, "a_card_is_either_sealed_or_destroyed"),
        ({"destroyed_at": NOW}, "a_card_is_either_sealed_or_destroyed"),
        ({"fingerprint": "x"}, "a_card_fingerprint_is_64_hex_characters"),
        ({"last4": "42"}, "a_sealed_card_shows_six_and_four_digits"),
        ({"exp_month": 13}, "a_card_expires_in_a_month"),
        ({"exp_year": 30}, "a_card_expires_in_this_century"),
    ],
)
def test_the_database_refuses_an_impossible_card(
    sealed: SealedCard, changes: dict[str, Any], constraint: str
) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        SealedCard.objects.update(**changes)


def test_a_cvc_is_held_until_it_is_dropped() -> None:
    cvc.hold(TOKEN, "987")
    assert cvc.look(TOKEN) == "987"

    cvc.drop(TOKEN)

    assert cvc.look(TOKEN) is None


def test_redis_holds_a_cvc_encrypted_for_a_quarter_of_an_hour() -> None:
    cvc.hold(TOKEN, "987")

    [key] = client().keys(f"*{TOKEN}*")

    assert 890 < client().ttl(key) <= 900
    assert b"987" not in client().get(key)


def test_a_cvc_copied_to_another_card_is_not_held() -> None:
    other = TOKEN.replace("a", "b")
    cvc.hold(TOKEN, "987")
    client().rename(f"held:{TOKEN}", f"held:{other}")

    assert cvc.look(other) is None


@pytest.mark.usefixtures("redis_gone")
def test_without_redis_no_cvc_is_held_and_nothing_breaks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cvc.hold(TOKEN, "987")
    cvc.drop(TOKEN)

    assert cvc.look(TOKEN) is None
    assert not re.search(r"\b987\b", caplog.text)


def test_the_command_writes_a_key_ring_where_none_is(settings: Any, tmp_path: Path) -> None:
    settings.KEYRING_FILE = tmp_path / "keyring.json"

    # As from the command line: call_command() would leave the system checks out anyway.
    execute_from_command_line(["manage.py", "create_keyring"])

    call_command("check", stdout=io.StringIO(), stderr=io.StringIO())


def test_the_command_refuses_to_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "keyring.json"
    call_command("create_keyring", path, stdout=io.StringIO())

    with pytest.raises(CommandError, match="already"):
        call_command("create_keyring", path)


def test_the_check_reports_a_missing_key_ring_and_the_way_out(
    settings: Any, tmp_path: Path
) -> None:
    settings.KEYRING_FILE = tmp_path / "keyring.json"

    with pytest.raises(SystemCheckError, match="manage.py create_keyring"):
        call_command("check")


def test_operators_see_cards_without_the_sealed_number_and_change_none(
    rf: RequestFactory,
) -> None:
    request, cards_admin = rf.get("/admin/"), admin.site.get_model_admin(SealedCard)

    shown = {*cards_admin.get_fields(request), *cards_admin.get_list_display(request)}

    assert {"token", "bin", "last4"} <= shown
    assert "sealed" not in shown
    assert not cards_admin.has_add_permission(request)
    assert not cards_admin.has_change_permission(request)
    assert not cards_admin.has_delete_permission(request)
