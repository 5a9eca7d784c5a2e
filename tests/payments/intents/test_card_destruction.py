"""A card's number is destroyed 24 hours after the last attempt that needed it."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections

from acquirers.gateway import AuthorizationRequest
from acquirers.outcomes import Answer as Told
from acquirers.outcomes import Outcome
from config.beat import NEVER_LATE
from config.celery import app
from core import clock
from core.models import Clock
from core.redis import client as redis
from payments.charging import card_destruction
from payments.charging.tasks import destroy_cards
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.bank_transport import BankTransport, an_order, sandbox
from tests.stage.books import captured_by_bank, refused
from tests.stage.client import ApiClient
from tests.stage.factories import (
    DECLINED_CARD,
    SILENT_CARD,
    MerchantFactory,
    confirmation,
    sealed_card,
    unconfirmed,
)
from tests.stage.key_change import Killed, killed_after, seal_many, seal_with_a_lost_key
from tests.stage.kills import PATIENCE_SECONDS
from vault import cards
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/payment_intents"


def later(hours: float) -> None:
    """Move the service's clock on and do what it does every minute."""
    moved, _ = Clock.objects.get_or_create(id=1)
    moved.offset_seconds += hours * 3600
    moved.save()
    destroy_cards()


def card_of(payment_id: str) -> SealedCard:
    return Attempt.objects.get(intent=payment_id).sealed_card


# --- When -------------------------------------------------------------------------------------


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("changes", [{}, {"number": DECLINED_CARD}, {"capture_method": "manual"}])
def test_a_card_is_kept_for_24_hours_after_its_attempt(
    changes: dict[str, str], acme: ApiClient, bank: BankTransport
) -> None:
    card = card_of(acme.pay(**changes)["id"])

    later(hours=23.9)
    assert SealedCard.objects.get(sealed__isnull=False) == card

    later(hours=0.2)
    assert SealedCard.objects.filter(sealed__isnull=False).count() == 0


def test_what_identifies_the_card_stays(acme: ApiClient, bank: BankTransport) -> None:
    before = card_of(acme.pay()["id"])

    later(hours=25)

    after = SealedCard.objects.get()
    assert after.sealed is None
    assert after.destroyed_at == pytest.approx(clock.now(), abs=timedelta(seconds=5))
    for name in ("token", "fingerprint", "bin", "last4", "exp_month", "exp_year", "created_at"):
        assert getattr(after, name) == getattr(before, name)


def test_a_card_that_was_never_tried_counts_from_its_creation(acme: ApiClient) -> None:
    acme.post(PATH, unconfirmed())

    later(hours=23.9)
    assert SealedCard.objects.filter(sealed__isnull=False).count() == 1

    later(hours=0.2)
    assert SealedCard.objects.filter(sealed__isnull=False).count() == 0


def test_a_late_attempt_keeps_its_card_for_another_24_hours(
    acme: ApiClient, bank: BankTransport
) -> None:
    payment_id = acme.post(PATH, unconfirmed())["id"]
    later(hours=20)
    acme.post(f"{PATH}/{payment_id}/confirm")

    later(hours=23)
    assert SealedCard.objects.filter(sealed__isnull=False).count() == 1

    later(hours=2)
    assert SealedCard.objects.filter(sealed__isnull=False).count() == 0


@pytest.mark.parametrize("status", ["processing", "requires_action"])
def test_a_card_stays_as_long_as_its_attempt_is_open(
    status: str, acme: ApiClient, bank: BankTransport
) -> None:
    acme.pay(SILENT_CARD)
    Attempt.objects.update(status=status)

    later(hours=24 * 30)

    assert SealedCard.objects.filter(sealed__isnull=False).count() == 1


def test_the_check_sees_a_destruction_that_asks_no_attempt(
    acme: ApiClient, bank: BankTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(card_destruction, "OPEN_ATTEMPT", ())

    with pytest.raises(AssertionError):
        test_a_card_stays_as_long_as_its_attempt_is_open("processing", acme, bank)


# --- What is left of the payment --------------------------------------------------------------


@pytest.mark.parametrize("forgotten", [True, False], ids=["code gone", "code still held"])
def test_a_payment_whose_card_is_destroyed_asks_for_a_card(
    acme: ApiClient, bank: BankTransport, *, forgotten: bool
) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm"
    later(hours=25)
    if forgotten:
        redis().flushdb()

    answer = refused(acme, path, {}, bank=bank)

    assert answer.refusal == (400, "parameter_missing", "payment_method_data[card][cvc]")
    assert acme.post(path, confirmation())["status"] == "succeeded"


def test_a_paid_payment_shows_its_card_as_before(acme: ApiClient, bank: BankTransport) -> None:
    paid = acme.pay()

    later(hours=25)

    assert acme.payment(paid["id"]).body == paid.body


# --- A card that does not open ----------------------------------------------------------------


def destroyed(row: SealedCard) -> None:
    SealedCard.objects.filter(token=row.token).update(sealed=None, destroyed_at=clock.now())


def spoilt(row: SealedCard) -> None:
    other = sealed_card(row.merchant)
    SealedCard.objects.filter(token=row.token).update(sealed=other.sealed)


WAYS = [(destroyed, "CardDestroyed"), (spoilt, "SealBroken"), (seal_with_a_lost_key, "UnknownKey")]


@pytest.mark.parametrize(("happen", "name"), WAYS)
def test_a_card_that_does_not_open_was_not_sent_and_the_log_says_why(
    happen: Callable[[SealedCard], None],
    name: str,
    bank: BankTransport,
    caplog: pytest.LogCaptureFixture,
) -> None:
    card = sealed_card(MerchantFactory())
    happen(card)
    card.refresh_from_db()

    outcome = sandbox().authorize(AuthorizationRequest(an_order(), True, card, "123"))

    assert outcome == Outcome(Told.NOT_SENT)
    assert bank.seen == []
    [record] = [record for record in caplog.records if "card_not_revealed" in record.getMessage()]
    assert record.levelno == logging.ERROR
    assert name in record.getMessage()
    assert card.token in record.getMessage()


@pytest.mark.parametrize(("happen", "_name"), WAYS[1:])
def test_a_payment_with_a_card_that_does_not_open_may_be_tried_with_another(
    happen: Callable[[SealedCard], None], _name: str, acme: ApiClient, bank: BankTransport
) -> None:
    path = f"{PATH}/{acme.post(PATH, unconfirmed())['id']}/confirm"
    happen(PaymentIntent.objects.get().sealed_card)

    answer = acme.post(path)

    error = answer["last_payment_error"]
    assert (answer.status, answer["status"]) == (200, "requires_payment_method")
    assert (error["code"], error["advice_code"]) == ("processing_error", "try_again_later")
    assert bank.seen == []
    assert acme.post(path, confirmation())["status"] == "succeeded"
    assert captured_by_bank(acme) == acme.pending() == 12500


# --- How --------------------------------------------------------------------------------------


def days_ago(days: float) -> Any:
    return clock.now() - timedelta(days=days)


def destroyed_tokens() -> set[str]:
    return set(
        SealedCard.objects.filter(destroyed_at__isnull=False).values_list("token", flat=True)
    )


def test_every_due_card_goes_and_no_other_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 3)
    merchant = MerchantFactory()
    due = seal_many(merchant, 8, created_at=days_ago(2)) | seal_many(
        merchant, 5, created_at=days_ago(1.1)
    )
    seal_many(merchant, 5, created_at=days_ago(0.9))

    assert card_destruction.destroy_due() == 13
    assert destroyed_tokens() == due
    assert card_destruction.destroy_due() == 0


def test_a_run_that_was_killed_is_finished_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 3)
    due = seal_many(MerchantFactory(), 8, created_at=days_ago(2))
    with monkeypatch.context() as patch:
        patch.setattr(cards, "destroy", killed_after(2, cards.destroy))
        with pytest.raises(Killed):
            card_destruction.destroy_due()

    assert card_destruction.destroy_due() == 5
    assert destroyed_tokens() == due


def test_a_run_ends_before_the_next_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 1)
    monkeypatch.setattr(card_destruction, "RUN_SECONDS", 0.05)
    seal_many(MerchantFactory(), 500, created_at=days_ago(2))

    count = card_destruction.destroy_due()

    assert 0 < count == len(destroyed_tokens()) < 500


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_runs_at_once_destroy_each_card_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_destruction, "CHUNK", 10)
    monkeypatch.setattr(card_destruction, "RUN_SECONDS", PATIENCE_SECONDS)  # It ends by facts.
    due = seal_many(MerchantFactory(), 300, created_at=days_ago(2))

    def run(_turn: int) -> int:
        try:
            return card_destruction.destroy_due()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(run, range(4)))

    print(f"4 runs over 300 cards: {shares}")  # noqa: T201
    assert sum(shares) + card_destruction.destroy_due() == 300
    assert destroyed_tokens() == due


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_a_card_that_others_hold_is_left_to_the_next_run() -> None:
    due = seal_many(MerchantFactory(), 4, created_at=days_ago(2))
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1 FROM vault_sealedcard WHERE token = %s FOR UPDATE", [min(due)])
        assert card_destruction.destroy_due() == 3

    assert card_destruction.destroy_due() == 1
    assert destroyed_tokens() == due


def test_what_is_scheduled_exists_and_does_not_pile_up() -> None:
    app.loader.import_default_modules()

    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in app.tasks
        expires = entry["options"]["expires"]
        assert entry["task"] in NEVER_LATE if expires is None else expires <= entry["schedule"]
    assert settings.CELERY_BEAT_SCHEDULE["payments.charging.tasks.destroy_cards"]["schedule"] <= 60
