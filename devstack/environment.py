"""The environment that config/settings reads, for the sandbox, the tests and the checks."""

import secrets
from pathlib import Path

from core import keyring
from devstack.state import remembered_secret
from devstack.storage import Storage

NOWHERE = Storage(
    database_url="postgresql://app@/app?host=/nonexistent",
    bank_database_url="postgresql://app@/bank?host=/nonexistent",
    redis_url="unix:///nonexistent/v.sock",
)
# Laid over the above: what a live installation has, as far as a check can tell.
LIVE = {
    "INSTALLATION": "live",
    "BASE_URL": "https://pay.example",
    "EMAIL_URL": "smtp+tls://pay:password@mail.example:587",
    "KEK_PROVIDER": "components",
}


def sandbox(
    storage: Storage, *, base_url: str, bank_url: str, secret_key: str, keyring_file: Path
) -> dict[str, str]:
    kept = keyring_file.parent
    static_root = kept / "static"
    static_root.mkdir(exist_ok=True)  # The web process warns about one that is missing.
    owners = {
        "OWNER_DATABASE_URL": storage.owner_database_url,
        "OWNER_BANK_DATABASE_URL": storage.owner_bank_database_url,
    }
    return {
        **{name: url for name, url in owners.items() if url},
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "INSTALLATION": "sandbox",
        "BASE_URL": base_url,
        "SECRET_KEY": secret_key,
        "KEYRING_FILE": str(keyring_file),
        "KEK_FILE": str(kek_file(keyring_file)),
        "STATIC_ROOT": str(static_root),
        "DATABASE_URL": storage.database_url,
        "BANK_DATABASE_URL": storage.bank_database_url,
        "REDIS_URL": storage.redis_url,
        # Mails are files, below `mail_directory`.
        # The path comes after the third slash.
        "EMAIL_URL": f"filemail:///{mail_directory(kept).resolve()}",
        "TESTBANK_URL": bank_url,
        "TESTBANK_SIGNING_KEY": remembered_secret(kept / "bank_signing_key", length_bytes=32),
        # Nobody's first try of the service should meet a 429.
        "RATE_LIMIT_PER_SECOND": "0",
    }


def mail_directory(state: Path) -> Path:
    return state / "mail"


def throw_away(storage: Storage, directory: Path) -> dict[str, str]:
    """Return a sandbox's environment with throw-away secrets, written to `directory`."""
    ours = sandbox(
        storage,
        base_url="http://127.0.0.1:8000",
        # Port 1: a test that reaches the bank over the network fails at once.
        bank_url="http://127.0.0.1:1",
        secret_key=secrets.token_urlsafe(50),
        keyring_file=make_keyring(directory / "keyring"),
    )
    # The same whether the checkout's site is built or not.
    return {**ours, "DOCS_ROOT": str(directory / "builtdocs")}


def make_keyring(path: Path) -> Path:
    keyring.create(path, kek_file=kek_file(path))
    return path


def kek_file(keyring_file: Path) -> Path:
    return keyring_file.with_name("kek")
