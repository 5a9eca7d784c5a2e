"""A database of before a rotation is restored, while the key ring is today's: nothing is lost."""

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError

from audit import keys as audit_keys
from core import keyring
from merchants import audit_chains, second_factors
from merchants.models import ApiKey
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.dumps import dump, restored_from
from tests.stage.factories import payment
from tests.stage.key_change import (
    KeyChange,
    PurposeChange,
    assert_opens_by_one_key,
    keyring_command,
    rotate,
    seal_many,
)
from tests.stage.second_factors import SEED, add_app
from tests.stage.visitors import an_operator
from vault.checks import require_keys
from vault.models import SealedCard

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "bank"]),
]

PAYMENTS = "/v1/payment_intents"
LONG_AGO = timedelta(days=40)


@pytest.fixture
def tokens(acme: ApiClient, bank: BankTransport) -> set[str]:
    """Cards, a request with its answer, and a second factor, of before the change."""
    add_app(an_operator())
    acme.post(PAYMENTS, payment(), idempotency_key="before")
    seal_many(acme.merchant, 10)
    return set(SealedCard.objects.values_list("token", flat=True))


@pytest.fixture
def dumped(tokens: set[str], tmp_path: Path) -> Path:
    dump(tmp_path / "dump")
    return tmp_path / "dump"


def change_all(change: KeyChange) -> None:
    """Change the keys of data and of purposes, until each earlier one is retired.

    That for fingerprints of cards waits a day for the cards of before.
    """
    keyring_command("promote", change.new)
    others = [purpose for purpose in keyring.PURPOSES if purpose != "card_fingerprint"]
    purposes = [PurposeChange(change.path, purpose) for purpose in others]
    for one in purposes:
        one.begin()
    rotate()
    keyring_command("remove", change.old)
    for one in purposes:
        # The rows of the audit log are of today.
        one.retire(ago=timedelta(0) if one.purpose == "audit_log" else LONG_AGO)
    change.restart()


def test_a_database_of_before_a_rotation_opens_and_is_rotated_by_todays_ring(
    acme: ApiClient, tokens: set[str], dumped: Path, key_change: KeyChange
) -> None:
    answered = acme.post(PAYMENTS, payment(), idempotency_key="before").response.content
    change_all(key_change)

    with restored_from(dumped):
        require_keys()
        assert_opens_by_one_key(tokens, key_change.old)
        assert f"{key_change.old}  retired  11 vault.SealedCard.sealed" in keyring_command("show")
        assert audit_keys.check().differences == []
        again = acme.post(PAYMENTS, payment(), idempotency_key="before")
        assert again.response.content == answered
        assert second_factors.opened(Authenticator.objects.get().data["secret"]) == SEED
        with pytest.raises(CommandError, match=r"run `manage\.py vault_rotate`"):
            keyring_command("purge", key_change.old)

        assert "vault.SealedCard.sealed: 11 rewrapped, 0 gone meanwhile, 0 left" in rotate()

        keyring_command("purge", key_change.old)
        key_change.restart()
        require_keys()
        assert_opens_by_one_key(tokens, key_change.new)
        assert set(ApiKey.objects.values_list("hashed_with", flat=True)) != {"api_key"}
        assert audit_keys.check().differences == []
        problems: list[object] = []
        audit_chains.verify(tell=problems.append)
        assert problems == []


def test_a_database_of_before_a_purge_waits_for_the_key_to_be_put_back(
    tokens: set[str], dumped: Path, key_change: KeyChange, tmp_path: Path
) -> None:
    copy = shutil.copy(key_change.path, tmp_path / "copy")
    change_all(key_change)
    keyring_command("purge", key_change.old)
    key_change.restart()

    with restored_from(dumped):
        with pytest.raises(keyring.KeyRingError, match=f"keyring put-back {key_change.old} --from"):
            require_keys()
        assert f"{key_change.old}  NOT IN THE KEY RING  11 vault" in keyring_command("show")
        assert audit_keys.check().differences != []

        keyring_command("put-back", key_change.old, "--from", copy)
        key_change.restart()

        require_keys()
        assert_opens_by_one_key(tokens, key_change.old)
        rotate()
        keyring_command("purge", key_change.old)
        key_change.restart()
        assert_opens_by_one_key(tokens, key_change.new)
        assert audit_keys.check().differences == []
