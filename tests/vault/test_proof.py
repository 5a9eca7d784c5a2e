"""The vault with many cards: killed anywhere, nothing is lost and nothing is left."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from core import clock
from core.cards import CardData
from merchants.models import Merchant
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.factories import GOOD_CARD, AttemptFactory, MerchantFactory, PaymentFactory
from tests.stage.key_change import KeyChange, assert_opens_by_one_key, seal_many, take_out
from tests.stage.lengths import length, tried
from tests.stage.processes import begin, run
from vault import cards
from vault.models import SealedCard
from vault.reveal import reveal

pytestmark = [
    pytest.mark.proof(part="keys"),
    pytest.mark.timeout(600),
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

COUNT = length(short=10_000, full=100_000)
# At which part of the work the process is killed, one after the other.
KILLED_AT = (0.2, 0.5, 0.8)
# One run ends after some seconds; a slow machine needs several, as the beat gives them.
DESTROY = """
import django
django.setup()
from payments.charging.card_destruction import destroy_due
while destroy_due():
    pass
"""


@pytest.fixture
def merchant() -> Merchant:
    return MerchantFactory()


def kill_when(done: Callable[[], int], reaches: int, *arguments: str, **settings: str) -> int:
    """Start a process, kill it when so much is done, and return how much was done then."""
    process = begin(*arguments, **settings)
    while done() < reaches:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    assert process.returncode == -9
    return done()


# --- Rotation ---------------------------------------------------------------------------------


def under(key_id: str) -> int:
    return SealedCard.objects.filter(sealed__isnull=False, key_id=key_id).count()


def test_a_rotation_killed_three_times_loses_no_card(
    merchant: Merchant, key_change: KeyChange
) -> None:
    tokens = seal_many(merchant, COUNT)
    key_change.promote()
    rotation = {"KEYRING_FILE": str(key_change.path)}
    new = key_change.new

    killed_at = [
        kill_when(lambda: under(new), int(COUNT * part), "manage.py", "vault_rotate", **rotation)
        for part in KILLED_AT
    ]
    status, said = run("manage.py", "vault_rotate", **rotation)

    print(f"killed at {killed_at}, then {said}")  # noqa: T201
    tried(COUNT, "cards to rotate")
    assert status == 0
    assert killed_at[-1] < COUNT
    key_change.restart()
    take_out(key_change.old)
    key_change.restart()
    assert_opens_by_one_key(tokens, new)


def test_cards_are_used_all_the_while_a_process_rotates_them(
    merchant: Merchant, key_change: KeyChange
) -> None:
    tokens = sorted(seal_many(merchant, COUNT // 5))
    # This process started between `add` and `promote`: it seals with the old key to the end.
    key_change.promote()
    rotation = begin("manage.py", "vault_rotate", KEYRING_FILE=str(key_change.path))
    done = threading.Event()

    with ThreadPoolExecutor(3) as pool:
        revealing = [pool.submit(_reveal_until, done, tokens[part::2]) for part in (0, 1)]
        sealing = pool.submit(_seal_until, done, merchant)
        rotation.communicate(timeout=120)
        done.set()
    sealed = sealing.result()
    second, said = run("manage.py", "vault_rotate", KEYRING_FILE=str(key_change.path))

    revealed = [work.result() for work in revealing]
    print(f"{len(tokens)} cards: {revealed} reveals, {len(sealed)} seals, then {said}")  # noqa: T201
    tried(sum(revealed) + len(sealed), "uses of a card that is rotated")
    assert second == 0
    assert sum(revealed) > 1000
    assert len(sealed) > 100
    key_change.restart()
    assert_opens_by_one_key({*tokens, *sealed}, key_change.new)


def _reveal_until(done: threading.Event, tokens: list[str]) -> int:
    revealed = 0
    try:
        while not done.is_set():
            row = SealedCard.objects.get(token=tokens[revealed * 7919 % len(tokens)])
            assert reveal(row).number == GOOD_CARD
            revealed += 1
    finally:
        connections.close_all()
    return revealed


def _seal_until(done: threading.Event, merchant: Merchant) -> list[str]:
    sealed: list[str] = []
    try:
        while not done.is_set():
            card = CardData(GOOD_CARD, 12, 2040, holder_name=f"Late {len(sealed)}")
            sealed.append(cards.seal(merchant.id, card, now=clock.now()).token)
            time.sleep(0.01)
    finally:
        connections.close_all()
    return sealed


# --- Destruction ------------------------------------------------------------------------------


def try_cards(merchant: Merchant, tokens: set[str], *, closed_hours_ago: float | None) -> None:
    """Give each card an attempt of a payment: failed so long ago, or still open for None."""
    closed_at = closed_hours_ago and clock.now() - timedelta(hours=closed_hours_ago)
    status = "failed" if closed_at else "processing"
    common = {"merchant": merchant, "status": status, "closed_at": closed_at}
    sealed = SealedCard.objects.defer("sealed").in_bulk(tokens)
    payments = PaymentFactory.build_batch(len(tokens), merchant=merchant, sealed_card=None)
    PaymentIntent.objects.bulk_create(payments, batch_size=2000)
    attempts = [
        AttemptFactory.build(intent=payment, **common, sealed_card=sealed[token])
        for payment, token in zip(payments, tokens, strict=True)
    ]
    Attempt.objects.bulk_create(attempts, batch_size=2000)


def test_a_destruction_killed_three_times_leaves_what_is_needed_and_nothing_else(
    merchant: Merchant,
) -> None:
    two_days_ago = clock.now() - timedelta(days=2)
    never_tried = seal_many(merchant, int(COUNT * 0.7), created_at=two_days_ago)
    once_tried = seal_many(merchant, int(COUNT * 0.05), created_at=two_days_ago)
    just_tried = seal_many(merchant, int(COUNT * 0.05), created_at=two_days_ago)
    in_use = seal_many(merchant, int(COUNT * 0.05), created_at=two_days_ago)
    young = seal_many(merchant, int(COUNT * 0.15))
    try_cards(merchant, once_tried, closed_hours_ago=24.1)
    try_cards(merchant, just_tried, closed_hours_ago=23)
    try_cards(merchant, in_use, closed_hours_ago=None)
    due, needed = never_tried | once_tried, just_tried | in_use | young

    killed_at = [kill_when(destroyed, int(len(due) * part), "-c", DESTROY) for part in KILLED_AT]
    status, _said = run("-c", DESTROY)

    print(f"{len(due)} due, killed at {killed_at}")  # noqa: T201
    tried(COUNT, "cards to destroy")
    assert status == 0
    assert killed_at[-1] < len(due)
    rows = SealedCard.objects.only("token", "sealed")
    assert {row.token for row in rows if row.sealed is None} == due
    assert {row.token for row in rows if row.sealed is not None} == needed
    assert {reveal(row).number for row in SealedCard.objects.filter(token__in=needed)} == {
        GOOD_CARD
    }


def destroyed() -> int:
    return SealedCard.objects.filter(destroyed_at__isnull=False).count()
