"""The provider `pkcs11`, with SoftHSM2 of Debian: the key that seals stays in a token."""

import shutil
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pkcs11
import pytest
from django.core.management import CommandError, call_command

from core import keyring
from core.keyring import KeyRingError, kek, token
from core.keyring.file import stored_in
from tests.stage.key_change import keyring_command
from tests.stage.key_ring_files import replace

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
UTILITY = shutil.which("softhsm2-util")
PIN, OTHER_PIN = "1234", "4321"

pytestmark = pytest.mark.skipif(
    UTILITY is None or not MODULE.exists(), reason="SoftHSM2 is missing: install softhsm2"
)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two tokens, `pay` and `other`; the library reads where they are once in a process."""
    directory = tmp_path_factory.mktemp("tokens")
    (directory / "conf").write_text(f"directories.tokendir = {directory}\nlog.level = ERROR\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(directory / "conf"))
        for label in ("pay", "other"):
            init = ["--init-token", "--free", "--label", label, "--pin", PIN, "--so-pin", "56789"]
            subprocess.run([str(UTILITY), *init], check=True, capture_output=True)
        pkcs11.lib(str(MODULE)).reinitialize()
        yield


@pytest.fixture
def path(tokens: None, settings: Any, tmp_path: Path) -> Path:
    """A key ring whose key-encryption key the token `pay` has sealed."""
    settings.KEK_PROVIDER, settings.PKCS11_MODULE = "pkcs11", str(MODULE)
    settings.PKCS11_TOKEN, settings.PKCS11_PIN, settings.PKCS11_KEY = "pay", PIN, "pay-kek"
    settings.KEYRING_FILE, settings.KEK_FILE = tmp_path / "keyring", tmp_path / "missing" / "kek"
    call_command("create_keyring", stdout=StringIO())
    return settings.KEYRING_FILE


def test_a_ring_opens_by_its_token_and_is_changed_under_it(path: Path) -> None:
    blob = keyring.load(path).seal(b"x", context="a")

    key_id = keyring.add(path)

    ring = keyring.load(path)
    assert key_id in ring.key_ids
    assert ring.open(blob, context="a") == b"x"
    assert not (path.parent / "missing").exists()


def test_the_tokens_key_never_leaves_it(path: Path) -> None:
    with token._session() as session:
        key = token._key(session, token._refused)

        with pytest.raises(pkcs11.exceptions.AttributeSensitive):
            print(key[pkcs11.Attribute.VALUE])  # noqa: T201
        assert not key[pkcs11.Attribute.EXTRACTABLE]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"PKCS11_TOKEN": "gone"}, "There is no token 'gone'"),
        ({"PKCS11_PIN": OTHER_PIN}, "refuses the PIN"),
        ({"PKCS11_TOKEN": "other"}, "has no key 'pay-kek'"),
        ({"PKCS11_MODULE": "/nonexistent.so"}, "look at PKCS11_MODULE"),
    ],
)
def test_a_token_that_does_not_open_the_ring_is_told_in_one_sentence(
    path: Path, settings: Any, changes: dict[str, str], reason: str
) -> None:
    for name, value in changes.items():
        setattr(settings, name, value)

    with pytest.raises(KeyRingError, match=reason):
        keyring.load(path)
    with pytest.raises(CommandError, match=reason):
        keyring_command("wrap")
    assert PIN not in str(path.read_text())


def test_a_process_that_runs_does_not_need_the_token(path: Path, settings: Any) -> None:
    ring = keyring.load(path)
    settings.PKCS11_TOKEN = "gone"

    assert ring.open(ring.seal(b"x", context="a"), context="a") == b"x"


@pytest.mark.parametrize("planted", ["AAAA", "QUJD" * 20, 7, None])
def test_what_the_token_has_not_sealed_is_refused(path: Path, planted: object) -> None:
    replace(path, stored_in(path) | {"sealed": planted})

    with pytest.raises(KeyRingError, match="does not open this key ring's|lacks what the token"):
        keyring.load(path)


def test_a_key_of_another_installation_is_refused(path: Path) -> None:
    wrapping = token.make(kek.new_installation())
    replace(path, stored_in(path) | {"sealed": wrapping.sealed})

    with pytest.raises(KeyRingError, match="does not open this key ring's"):
        keyring.load(path)


def test_without_the_library_the_sentence_names_the_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token, "pkcs11", None)

    with pytest.raises(KeyRingError, match=r"requirements-token\.txt"):
        keyring.load(path)
