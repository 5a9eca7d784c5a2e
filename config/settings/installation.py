"""This installation: sandbox or live, its addresses, its keys."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ

from config.settings.secret_files import with_secrets
from core.version import VERSION

BASE_DIR = Path(__file__).resolve().parent.parent.parent
# Each of these may come from a file, named by the variable with _FILE at its end.
SECRETS = (
    "SECRET_KEY", "SECRET_KEY_FALLBACKS", "DATABASE_URL", "OWNER_DATABASE_URL", "BANK_DATABASE_URL",
    "OWNER_BANK_DATABASE_URL", "READ_DATABASE_URL", "REDIS_URL", "EMAIL_URL", "PKCS11_PIN",
    "TESTBANK_SIGNING_KEY", "ACQUIRER_PROXY_URL", "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "SENTRY_DSN",
)  # fmt: skip


class Environment(environ.Env):  # type: ignore[misc]  # It has no types.
    """The environment's values as they stand: one that begins with `$` names no other variable."""

    ENVIRON = with_secrets(os.environ, SECRETS)

    def get_value(self, var: str, cast: Any = None, *args: Any, **kwargs: Any) -> Any:
        """:raises ImproperlyConfigured: a file is named for a variable that takes none."""
        if var not in SECRETS and self.ENVIRON.get(f"{var}_FILE", "").strip():
            raise environ.ImproperlyConfigured(f"Set {var} itself, and unset {var}_FILE.")
        value = self.ENVIRON.get(var, "")
        if value.startswith("$"):
            return self.parse_value(value, cast)
        return super().get_value(var, cast, *args, **kwargs)


env = Environment()

INSTALLATION = env.str("INSTALLATION", default="sandbox")
if INSTALLATION not in ("sandbox", "live"):
    raise environ.ImproperlyConfigured("Set INSTALLATION to sandbox or live.")
LIVEMODE = INSTALLATION == "live"


def required(name: str, meaning: str) -> str:
    value = env.str(name, default="").strip()
    if not value:
        raise environ.ImproperlyConfigured(f"Set {name} to {meaning}.")
    return value


# Words of keys that were copied from a page, and never made at random.
COPIED = ("insecure", "changeme", "change-me", "change_me", "example", "password", "secret")


def is_weak(key: str) -> bool:
    """Return whether a secret key is short, repeats few characters, or stands on some page."""
    return len(key) < 50 or len(set(key)) < 10 or any(word in key.lower() for word in COPIED)


BASE_URL = required(
    "BASE_URL", "the address that clients reach this installation at, such as https://pay.example"
).rstrip("/")
# The panel's address; names in mails and of passkeys come from here, never from a request.
# A passkey is of a name, so 127.0.0.1 has none.
PANEL_URL = env.str("PANEL_URL", default="").strip().rstrip("/") or BASE_URL.replace(
    "//127.0.0.1", "//localhost"
)
base = urlsplit(BASE_URL)
if not base.hostname or base.scheme not in (("https",) if LIVEMODE else ("https", "http")):
    raise environ.ImproperlyConfigured(
        "Set BASE_URL to an https:// address; a sandbox may be at an http:// one."
    )
panel = urlsplit(PANEL_URL)
if not panel.hostname or panel.scheme not in (("https",) if LIVEMODE else ("https", "http")):
    raise environ.ImproperlyConfigured(
        "Set PANEL_URL to an https:// address; a sandbox may be at an http:// one."
    )
API_HOST, PANEL_HOST = base.hostname, panel.hostname
# As they stand in a request's Host, though clients may write a name in other ways (core.http).
PANEL_AT, API_AT = panel.netloc, base.netloc
SECRET_KEY = required("SECRET_KEY", "50 or more random characters, which sign sessions")
if LIVEMODE and is_weak(SECRET_KEY):
    raise environ.ImproperlyConfigured(
        "Set SECRET_KEY to 50 or more random characters that nobody else has: whoever knows or"
        " guesses it signs in as anybody."
    )
# Earlier ones, which sign nothing any more: while one is here, what it has signed is still right.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
if LIVEMODE and any(map(is_weak, SECRET_KEY_FALLBACKS)):
    raise environ.ImproperlyConfigured(
        "Let SECRET_KEY_FALLBACKS have earlier SECRET_KEYs alone, with commas between them."
    )
KEYRING_FILE = Path(
    required("KEYRING_FILE", "the path of the key ring, made by `manage.py create_keyring`")
)
# The key that wraps the key ring's keys comes from custodians' components, or from a file.
KEK_PROVIDER = env.str("KEK_PROVIDER", default="components" if LIVEMODE else "file")
if KEK_PROVIDER not in ("file", "components", "pkcs11"):
    raise environ.ImproperlyConfigured("Set KEK_PROVIDER to file, components or pkcs11.")
if LIVEMODE and KEK_PROVIDER == "file" and not env.bool("ALLOW_KEK_FILE_IN_LIVE", default=False):
    raise environ.ImproperlyConfigured(
        "Set KEK_PROVIDER to components: with KEK_PROVIDER=file one person who copies two files has"
        " all keys. If you accept that, set ALLOW_KEK_FILE_IN_LIVE to true."
    )
# Processes read that key here: on a tmpfs with components, on a disk of its own with a file.
IN_MEMORY = Path("/run/pay/kek")
KEK_FILE = Path(
    env.str("KEK_FILE", default="").strip()
    or (IN_MEMORY if KEK_PROVIDER == "components" else KEYRING_FILE.with_name("kek"))
)
# The token of KEK_PROVIDER=pkcs11: library of its maker, label, label of its key, PIN. A ring that
# moves to another provider is opened by it once more.
PKCS11_MODULE = env.str("PKCS11_MODULE", default="")
PKCS11_TOKEN = env.str("PKCS11_TOKEN", default="")
PKCS11_PIN = env.str("PKCS11_PIN", default="")
if KEK_PROVIDER == "pkcs11":
    PKCS11_MODULE = required("PKCS11_MODULE", "the path of the library of the token's maker")
    PKCS11_TOKEN = required("PKCS11_TOKEN", "the label of the token")
    PKCS11_PIN = required("PKCS11_PIN", "the PIN of the token, best by PKCS11_PIN_FILE")
PKCS11_KEY = env.str("PKCS11_KEY", default="pay-kek")
# The file with the mark by which a restored copy is known (core.installation); beat's host has it.
MARK_FILE = Path(env.str("MARK_FILE", default=str(KEYRING_FILE.with_name("mark"))))
# The release of the service, for people who compare its processes.
RELEASE = env.str("RELEASE", default=VERSION)
if len(RELEASE) > 100:
    raise environ.ImproperlyConfigured("Set RELEASE to 100 characters at most.")
DEBUG = False
