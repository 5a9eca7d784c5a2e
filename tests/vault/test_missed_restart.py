"""A process that missed its restart goes on sealing with the old key; nothing of it is lost."""

import time
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
import requests
from django.core.management import CommandError

from core.models import Process
from tests.stage.client import ApiClient
from tests.stage.factories import GOOD_CARD, unconfirmed
from tests.stage.key_change import KeyChange, keyring_command, rotate
from tests.stage.web_process import PATIENCE_SECONDS, WebProcess
from vault.checks import require_keys
from vault.models import SealedCard
from vault.reveal import reveal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]


@pytest.fixture
def web(key_change: KeyChange, tmp_path: Path) -> Iterator[WebProcess]:
    """A web process of two workers that has read the old primary key, and will not start anew."""
    process = WebProcess(tmp_path / "log", WEB_WORKERS="2", KEYRING_FILE=str(key_change.path))
    yield process
    process.stop()


def pay(web: WebProcess, acme: ApiClient) -> None:
    headers = {"Authorization": f"Bearer {acme.key}", "Idempotency-Key": "k"}
    url, patience = f"{web.url}/v1/payment_intents", PATIENCE_SECONDS
    requests.post(url, json=unconfirmed(), headers=headers, timeout=patience).raise_for_status()


def await_workers(web: WebProcess, *, besides: Collection[str] = ()) -> set[str]:
    """Return the ids of two workers as soon as both have told that they live, and nobody else."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(rows := Process.objects.exclude(id__in=besides)) != 2:
        assert time.monotonic() < deadline, web.log
        time.sleep(0.02)
    return {row.id for row in rows}


def die_and_be_replaced(web: WebProcess) -> None:
    """Kill both workers, and let the minute pass for which dead ones count."""
    dead = await_workers(web)
    web.kill_workers()
    await_workers(web, besides=dead)
    Process.objects.filter(id__in=dead).delete()


def test_a_card_of_a_process_that_missed_its_restart_is_not_lost(
    acme: ApiClient, key_change: KeyChange, web: WebProcess
) -> None:
    key_change.promote_and_restart()
    with pytest.raises(CommandError, match=f"seal with {key_change.old} and not .*: web on "):
        rotate()
    keyring_command("remove", key_change.old)
    pay(web, acme)
    with pytest.raises(CommandError, match=f"seal with {key_change.old} and not .*: web on "):
        keyring_command("purge", key_change.old)

    key_change.restart()
    require_keys()
    [card] = SealedCard.objects.all()
    assert card.key_id == key_change.old
    assert reveal(card).number == GOOD_CARD

    die_and_be_replaced(web)
    web.stop()
    rotate()
    keyring_command("purge", key_change.old)
    key_change.restart()
    require_keys()
    [card] = SealedCard.objects.all()
    assert (card.key_id, reveal(card).number) == (key_change.new, GOOD_CARD)
