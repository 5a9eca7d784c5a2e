"""No process starts that could not open what others have sealed (architecture: vault)."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from core import keyring
from core.keyring.content import new_key
from core.keyring.file import replacing
from core.models import Process
from merchants.models import IdempotencyKey
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory, payment, sealed_card
from tests.stage.key_change import LOST, KeyChange
from tests.stage.processes import run
from tests.stage.web_process import environment
from vault.checks import require_keys
from vault.models import SealedCard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PROCESSES = {
    "web": ("-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"),
    "worker": ("-m", "celery", "-A", "config", "worker", "-P", "solo"),
    "beat": ("-m", "celery", "-A", "config", "beat", "-s", "{tmp}/beat", "--pidfile="),
}
HEALTH = """
import config.wsgi
from django.test import Client
print(Client(raise_request_exception=False).get("/livez").status_code)
"""


def start(name: str, tmp_path: Path, **changes: str) -> tuple[int, str]:
    arguments = [part.format(tmp=tmp_path) for part in PROCESSES[name]]
    return run(*arguments, WEB_BIND="127.0.0.1:0", **changes)


@pytest.fixture
def another_ring(tmp_path: Path) -> Path:
    """A key ring that has nothing of the one that everything is sealed with."""
    keyring.create(tmp_path / "another")
    return tmp_path / "another"


@pytest.mark.parametrize("name", PROCESSES)
def test_a_process_without_a_key_that_cards_are_sealed_with_does_not_start(
    name: str, tmp_path: Path, another_ring: Path
) -> None:
    sealed_card(MerchantFactory())

    status, said = start(name, tmp_path, KEYRING_FILE=str(another_ring))

    assert status not in (0, -9)
    lost = keyring.ring().primary
    assert f"The key ring at {another_ring} on {socket.gethostname()} lacks {lost}, which" in said
    assert f"`manage.py keyring put-back {lost} --from COPY`" in said
    assert not Process.objects.exists()


def elsewhere(kind: str) -> str:
    """Return the address of a database that is not there, or has no tables yet."""
    if kind == "down":
        return "postgresql://app@127.0.0.1:1/app"
    address, name = environment()["DATABASE_URL"], connection.settings_dict["NAME"]
    return address.replace(f"/{name}", "/postgres")


@pytest.mark.parametrize("kind", ["down", "not migrated"])
def test_a_database_that_cannot_be_asked_does_not_stop_the_start(kind: str) -> None:
    status, said = run("-c", HEALTH, DATABASE_URL=elsewhere(kind))

    assert status == 0, said
    assert "keys_in_use_not_checked" in said
    assert "200" in said.splitlines()


# --- What all of them ask ---------------------------------------------------------------------


def test_without_its_key_ring_a_process_says_how_to_make_one(
    settings: Any, tmp_path: Path, key_change: KeyChange
) -> None:
    key_change.restart()
    settings.KEYRING_FILE = tmp_path / "missing"

    with pytest.raises(keyring.KeyRingError, match=r"make one with `manage\.py create_keyring`"):
        require_keys()


def test_a_process_that_has_the_keys_in_use_starts(acme: ApiClient, bank: BankTransport) -> None:
    acme.post("/v1/payment_intents", payment(), idempotency_key="k")

    require_keys()


@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_a_kept_answer_of_a_lost_key_stops_the_start(
    age: str, acme: ApiClient, bank: BankTransport
) -> None:
    for key in ("oldest", "between", "newest"):
        acme.post("/v1/payment_intents", payment(), idempotency_key=key)
    IdempotencyKey.objects.filter(key=age).update(sealed_response=LOST.seal(b"x", context=""))

    with pytest.raises(keyring.KeyRingError, match="lacks k_lost"):
        require_keys()


def put_other_bytes(path: Path) -> None:
    """Give every key of the ring other bytes under its own name, as a wrong hand at a merge may."""
    with replacing(path) as content:
        content["encryption"] = {name: new_key() for name in content["encryption"]}


def a_kept_answer(acme: ApiClient) -> None:
    acme.post("/v1/customers", {}, idempotency_key="k")


def a_card(acme: ApiClient) -> None:
    sealed_card(acme.merchant)


@pytest.mark.parametrize("sealed", [a_kept_answer, a_card])
def test_wrong_bytes_under_a_right_name_stop_the_start(
    sealed: Callable[[ApiClient], None], acme: ApiClient, key_change: KeyChange
) -> None:
    sealed(acme)
    put_other_bytes(key_change.path)
    key_change.restart()

    with pytest.raises(
        keyring.KeyRingError, match=f"has another key under the name {key_change.old} than"
    ):
        require_keys()


@pytest.mark.parametrize("broken", range(3))
def test_rows_that_were_changed_do_not_make_their_key_a_wrong_one(
    broken: int, acme: ApiClient
) -> None:
    tokens = sorted(sealed_card(acme.merchant).token for _ in range(3))
    others = [token for place, token in enumerate(tokens) if place != broken]
    for card in SealedCard.objects.filter(token__in=others):
        card.sealed = bytes(card.sealed)[:40] + b"changed" + bytes(card.sealed)[47:]
        card.save()

    require_keys()


def test_looking_for_wrong_keys_opens_no_card(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed_card(acme.merchant)
    monkeypatch.delattr(keyring.KeyRing, "open")

    require_keys()


def test_a_destroyed_card_needs_no_key() -> None:
    card = sealed_card(MerchantFactory())
    card.sealed, card.key_id, card.destroyed_at = None, "k_lost", card.created_at
    card.save()

    require_keys()
