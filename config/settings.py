"""Every setting of the service, from the environment (see .env.example)."""

from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF

from config.beat import SCHEDULE
from config.logs import configure_logs, logging_config
from core.mail import is_mail_address
from core.redis import broker_url
from core.urls import is_host_and_port

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# --- What this installation is -------------------------------------------------------------

INSTALLATION = env.str("INSTALLATION", default="sandbox")
if INSTALLATION not in ("sandbox", "live"):
    raise environ.ImproperlyConfigured("Set INSTALLATION to sandbox or live.")
LIVEMODE = INSTALLATION == "live"


def _required(name: str, meaning: str) -> str:
    value = env.str(name, default="").strip()
    if not value:
        raise environ.ImproperlyConfigured(f"Set {name} to {meaning}.")
    return value


BASE_URL = _required(
    "BASE_URL", "the address that clients reach this installation at, such as https://pay.example"
).rstrip("/")
# Where people reach the panel; names in mails and of passkeys come from here, never from a request.
# A passkey is of a name, so 127.0.0.1 has none.
PANEL_URL = env.str("PANEL_URL", default="").strip().rstrip("/") or BASE_URL.replace(
    "//127.0.0.1", "//localhost"
)
SECRET_KEY = _required("SECRET_KEY", "50 or more random characters, which sign sessions")
KEYRING_FILE = Path(
    _required("KEYRING_FILE", "the path of the key ring, made by `manage.py create_keyring`")
)
DEBUG = False

# --- HTTP -----------------------------------------------------------------------------------

_base = urlsplit(BASE_URL)
if not _base.hostname or _base.scheme not in (("https",) if LIVEMODE else ("https", "http")):
    raise environ.ImproperlyConfigured(
        "Set BASE_URL to an https:// address; a sandbox may be at an http:// one."
    )
_panel = urlsplit(PANEL_URL)
if not _panel.hostname or _panel.scheme not in (("https",) if LIVEMODE else ("https", "http")):
    raise environ.ImproperlyConfigured(
        "Set PANEL_URL to an https:// address; a sandbox may be at an http:// one."
    )
PANEL_HOST = _panel.hostname
# As they stand in a request's Host: the panel's own, and the API's where it is another one.
PANEL_AT, API_AT = _panel.netloc, _base.netloc
ALLOWED_HOSTS = [*env.list("ALLOWED_HOSTS", default=[]), _base.hostname, PANEL_HOST]
ALLOWED_HOSTS += ["localhost"] if _base.hostname == "127.0.0.1" else []
_https = _base.scheme == "https"
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_PROXY else None
SECURE_SSL_REDIRECT = _https
# Nothing on /v1 ever redirects: a 301 turns an SDK's POST into a GET that "succeeds".
SECURE_REDIRECT_EXEMPT = [r"^v1(/|$)", r"^healthz$"]
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _https
SECURE_HSTS_PRELOAD = _https
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
# Browsers take a `__Host-` cookie of this host alone, over https: no neighbour plants one.
_cookie = "__Host-" if _https else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_cookie}sessionid", f"{_cookie}csrftoken"
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
# Other sites are told nothing. Not "no-referrer": browsers then send `Origin: null` with our
# own forms, and Django refuses them. Pages with a token in their address say so themselves.
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
APPEND_SLASH = False
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

INSTALLED_APPS = [
    "panel.operators.apps.OperatorsConfig",  # Django's admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",  # indexes with an operator class of their own
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "template_partials.apps.SimpleAppConfig",
    "core",
    "events",
    "merchants",
    "vault",
    "ledger",
    "cases",
    "acquirers",
    "acquirers.notices",
    "payments.customers",
    "payments.risk",
    "payments.installments",
    "payments.intents",
    "payments.refunds",
    "payments.disputes",
    "webhooks",
    "audit",
    "panel",
    "panel.account.apps.SignInConfig",
    "panel.operators.apps.DeskConfig",
    "config",  # its commands
    *([] if LIVEMODE else ["testbank"]),
]

MIDDLEWARE = [
    # Outside of the frame, whose own refusals may be pages too.
    "config.middleware.PagePolicy",
    "config.middleware.RequestFrame",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "panel.languages.Language",
    "merchants.sessions.NotedSessions",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "panel.account.doors.Doors",
]

# The addresses that a page may load from, and that its forms may lead to (docs/web-pages.md).
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            # A part of a template (`page.html#part`) is found by the outermost loader.
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    [
                        (
                            "django.template.loaders.cached.Loader",
                            [
                                "django.template.loaders.filesystem.Loader",
                                "django.template.loaders.app_directories.Loader",
                            ],
                        ),
                    ],
                ),
            ],
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "panel.frame.frame",
            ],
        },
    },
]

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles")))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "panel.static_files.HashedStaticFiles"},
}
# Collected files have their digest in their names, and browsers keep them for a year. A sandbox
# also serves the files where they lie, for whoever starts it without `./dev up`.
WHITENOISE_USE_FINDERS = not LIVEMODE

# --- The API --------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["merchants.authentication.ApiKeyAuthentication"],
    # In this order: a request that the key's scopes do not allow counts as well.
    "DEFAULT_PERMISSION_CLASSES": [
        "merchants.limits.WithinRate",
        "merchants.authentication.HasScope",
    ],
    "DEFAULT_PARSER_CLASSES": [
        "core.rest.parsers.StrictJSONParser",
        "core.rest.parsers.StrictFormParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["core.rest.renderers.ApiRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.rest.renderers.AlwaysJson",
    "EXCEPTION_HANDLER": "config.errors.exception_handler",
    # Looked up by who writes the schema only: the service does without drf-spectacular.
    "DEFAULT_SCHEMA_CLASS": "config.openapi.operations.ApiSchema",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS is 405: the schema describes the API.
    "UNAUTHENTICATED_USER": None,
    # The key of a problem that is about a form's whole object: a name that no client can send.
    "NON_FIELD_ERRORS_KEY": "\x00",
}
SPECTACULAR_SETTINGS: dict[str, list[str]] = {"POSTPROCESSING_HOOKS": []}
API_VERSIONS = ["2026-11-01"]
BODY_MAX_BYTES = 256 * 1024
CURRENCIES = [code.strip().lower() for code in env.list("CURRENCIES", default=[]) if code.strip()]
CURRENCIES = CURRENCIES or ["try", "usd", "eur", "gbp"]
# Per merchant; per address, and only for requests that fail authentication. 0 is no limit.
RATE_LIMIT_PER_SECOND = env.int("RATE_LIMIT_PER_SECOND", default=100 if LIVEMODE else 25)
FAILED_AUTHENTICATIONS_PER_MINUTE = env.int("FAILED_AUTHENTICATIONS_PER_MINUTE", default=30)
IDEMPOTENCY_KEY_HOURS = 72
# The most that a new merchant takes per payment without 3-D Secure, in its currency's minor units.
NON_SECURE_PER_PAYMENT = 500_000
REQUEST_LOG_DAYS = env.int("REQUEST_LOG_DAYS", default=30)
# How long a card's number is kept that no attempt needs any more.
SEALED_CARD_HOURS = 24
# How long a request that died keeps others from finishing its work; above the request's budget.
REQUEST_LEASE_SECONDS = env.float("REQUEST_LEASE_SECONDS", default=60.0)
# A request that waited longer for a thread is refused: its client may have given up by now.
WEB_QUEUE_SECONDS = env.float("WEB_QUEUE_SECONDS", default=1.0)
DOCS_URL = env.str("DOCS_URL", default=f"{BASE_URL}/docs")

# --- The bank -------------------------------------------------------------------------------

# The adapters by kind of acquirer, as dotted paths: `kind=path`, separated by commas, beside those
# that the service has. A live installation without any answers 503 to a confirm.
_adapters = {} if LIVEMODE else {"sandbox": "acquirers.sandbox.gateway.SandboxGateway"}
ACQUIRERS: dict[str, str] = {**_adapters, **env.dict("ACQUIRERS", default={})}
# Found by the statement that finds the key of an API request: SQL of one value, by its name.
FOUND_WITH_KEY = {
    "terminal": "acquirers.found_with_key.TERMINAL",
    "risk": "payments.risk.found_with_key.STANDING",
}
# The kinds of rows that the sweeper asks banks about, each with the rows that one process asks
# about at once: so a silent bank costs one time-out and not one for each row, and rows of one kind
# delay no other kind.
IN_DOUBT = {
    "payments.intents.inquiries.Attempts": 8,
    "payments.intents.modifications.Modifications": 4,
    "payments.refunds.asking.Refunds": 4,
    "payments.disputes.deliveries.Deliveries": 2,
}
# An outcome that is unknown for so long, in the movable clock, becomes a case for a person.
CASE_AFTER_SECONDS = env.float("CASE_AFTER_SECONDS", default=3600.0)
# The functions that apply what banks tell on their own, by the notice's kind. A kind without one
# is kept until there is one.
NOTICE_HANDLERS = {
    "dispute_opened": "payments.disputes.notices.dispute_opened",
    "inquiry_opened": "payments.disputes.notices.inquiry_opened",
    "dispute_escalated": "payments.disputes.notices.dispute_escalated",
    "dispute_won": "payments.disputes.notices.dispute_won",
    "dispute_lost": "payments.disputes.notices.dispute_lost",
    "dispute_regained": "payments.disputes.notices.dispute_won",
    "inquiry_closed": "payments.disputes.notices.inquiry_closed",
    "refund_bounced": "payments.refunds.notices.refund_bounced",
    "fraud_warning": "payments.intents.fraud_updates.warned",
}
# The rules about risk that differ from the defaults (docs/risk.md): `rule=deed`, `rule=deed/n` or
# `rule=deed/n/seconds`, separated by commas; of amounts `amount:try=review/500000`.
RISK_RULES: dict[str, str] = env.dict("RISK_RULES", default={})
ACQUIRER_TIMEOUT_SECONDS = env.float("ACQUIRER_TIMEOUT_SECONDS", default=30.0 if LIVEMODE else 5.0)
TESTBANK_URL = (
    ""
    if LIVEMODE
    else _required("TESTBANK_URL", "the test bank's address, such as http://127.0.0.1:8100")
)
# The bank's address for payers' browsers; the gateway may reach the bank at another one.
TESTBANK_PUBLIC_URL = (
    "" if LIVEMODE else (env.str("TESTBANK_PUBLIC_URL", default="") or TESTBANK_URL).rstrip("/")
)
if not LIVEMODE and not TESTBANK_PUBLIC_URL.startswith(("https://", "http://")):
    raise environ.ImproperlyConfigured(
        "Set TESTBANK_PUBLIC_URL to an https:// or http:// address that payers' browsers reach."
    )
# Signs what the bank lets a payer's browser carry to us; a live installation has no such bank.
TESTBANK_SIGNING_KEY = (
    None
    if LIVEMODE
    else _required(
        "TESTBANK_SIGNING_KEY", "50 or more random characters, the test bank's and ours alike"
    )
)
TESTBANK_SILENCE_SECONDS = env.float("TESTBANK_SILENCE_SECONDS", default=8.0)

# Threads per web process, as config/gunicorn.py starts them; three quarters may wait for a bank.
WEB_THREADS = env.int("WEB_THREADS", default=64)
if WEB_THREADS < 1:
    raise environ.ImproperlyConfigured("Set WEB_THREADS to 1 or more threads per process.")
ACQUIRER_SLOTS = max(1, WEB_THREADS * 3 // 4)

# --- Storage --------------------------------------------------------------------------------

# In every session: locks are waited for briefly, and a transaction that nobody goes on with is
# ended, for others may wait for it. Each process proves both (core.postgresql.waits).
BOUNDED_WAITS = {"lock_timeout": "3s", "idle_in_transaction_session_timeout": "60s"}
# A pooler in between gives each transaction another session: it takes no start-up options, and
# PostgreSQL sets the waits for the role.
BEHIND_POOLER = env.bool("BEHIND_POOLER", default=False)
# For what asks for it (core.prepared); poolers keep them for a client from PgBouncer 1.22 on.
PREPARED_STATEMENTS = env.bool("PREPARED_STATEMENTS", default=not BEHIND_POOLER)
# Connections that all threads of a web process share, to each database (core.connections).
DATABASE_POOL = env.int("DATABASE_POOL", default=8)
if DATABASE_POOL < 1:
    raise environ.ImproperlyConfigured("Set DATABASE_POOL to 1 or more connections per process.")


def _database(name: str, meaning: str) -> dict:
    url = _required(name, meaning)
    if not url.startswith(("postgres://", "postgresql://")):
        raise environ.ImproperlyConfigured(f"Set {name} to {meaning}.")
    config = environ.Env.db_url_config(url)
    options = {**config.get("OPTIONS", {}), "connect_timeout": 3}
    if not BEHIND_POOLER:
        session = {**BOUNDED_WAITS, "client_min_messages": "error"}
        options["options"] = " ".join(f"-c {key}={value}" for key, value in session.items())
    return {
        **config,
        "ENGINE": "core.postgresql",
        "CONN_MAX_AGE": 60,
        # They would live on a session.
        "DISABLE_SERVER_SIDE_CURSORS": BEHIND_POOLER,
        "OPTIONS": options,
    }


DATABASES = {
    "default": _database(
        "DATABASE_URL", "the database's address, such as postgresql://user:password@host:5432/name"
    )
}
if not LIVEMODE:
    DATABASES["bank"] = _database(
        "BANK_DATABASE_URL", "the postgresql:// address of a second database, the test bank's own"
    )
    DATABASE_ROUTERS = ["testbank.router.BankRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = _required("REDIS_URL", "the address of Redis, such as redis://host:6379/0")
if not REDIS_URL.startswith(("redis://", "rediss://", "unix://")):
    raise environ.ImproperlyConfigured("Set REDIS_URL to a redis://, rediss:// or unix:// address.")

# --- Events ---------------------------------------------------------------------------------

# Called in the transaction of every change, with the event (architecture: events).
EVENT_SUBSCRIBERS = ["webhooks.dispatch.plan"]
# The tables of statuses: which changes there are, and the event of each.
TRANSITIONS = [
    "payments.intents.states.PAYMENTS",
    "payments.intents.states.ATTEMPTS",
    "payments.intents.states.MODIFICATIONS",
    "payments.refunds.states.REFUNDS",
    "payments.disputes.states.DISPUTES",
    "payments.disputes.states.DELIVERIES",
    "cases.states.CASES",
    "merchants.states.MERCHANTS",
]
# The objects that events are about, in the spec's order of event types.
AGGREGATES = [
    "payments.intents.events.AGGREGATE",
    "payments.refunds.events.AGGREGATE",
    "payments.disputes.events.AGGREGATE",
    "config.to_come.PAYOUT",
    "config.to_come.TOPUP",
    "ledger.events.AGGREGATE",
    "merchants.events.AGGREGATE",
    "payments.customers.events.AGGREGATE",
]
# The things of a merchant that `accounts.change` may change.
MERCHANT_TERMS = ["merchants.terms.TERMS", "payments.intents.merchant_terms.TERMS"]
# The resources of the API, in the order of its document.
RESOURCES = [
    "payments.intents.resource.RESOURCE",
    "payments.installments.resource.RESOURCE",
    "payments.refunds.resource.RESOURCE",
    "payments.customers.resource.RESOURCE",
    "payments.disputes.resource.RESOURCE",
    "payments.search.resource.RESOURCE",
    "ledger.resource.BALANCE",
    "ledger.resource.TRANSACTIONS",
    "merchants.resource.ACCOUNT",
    "webhooks.resource.ENDPOINTS",
    "webhooks.resource.EVENTS",
    "merchants.resource.REQUEST_LOGS",
]
EVENT_DAYS = env.int("EVENT_DAYS", default=90)

# --- Webhooks -------------------------------------------------------------------------------

# One wall-clock deadline over DNS, connect, TLS, request and response.
WEBHOOK_TIMEOUT_SECONDS = env.float("WEBHOOK_TIMEOUT_SECONDS", default=10.0)
# How long a delivery whose worker died is kept from the others; above the deadline.
WEBHOOK_LEASE_SECONDS = env.float("WEBHOOK_LEASE_SECONDS", default=45.0)
if WEBHOOK_LEASE_SECONDS < 2 * WEBHOOK_TIMEOUT_SECONDS:
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_LEASE_SECONDS to twice WEBHOOK_TIMEOUT_SECONDS or more."
    )
# Deliveries in flight per process.
WEBHOOK_SLOTS = env.int("WEBHOOK_SLOTS", default=256)
# Ports that an endpoint's address may name.
_ports = [port.strip() for port in env.list("WEBHOOK_PORTS", default=["443"])]
if not all(port.isascii() and port.isdecimal() and 0 < int(port) < 65536 for port in _ports):
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_PORTS to port numbers, separated by commas, such as 443,8443."
    )
WEBHOOK_PORTS = [int(port) for port in _ports]
# `host:port` pairs of a developer's own machine, exempt from every rule about addresses.
WEBHOOK_DEV_HOSTS = [pair.strip().lower() for pair in env.list("WEBHOOK_DEV_HOSTS", default=[])]
if not all(map(is_host_and_port, WEBHOOK_DEV_HOSTS)):
    raise environ.ImproperlyConfigured(
        "Set WEBHOOK_DEV_HOSTS to host:port pairs, separated by commas, such as localhost:3000."
    )
if LIVEMODE and WEBHOOK_DEV_HOSTS:
    raise environ.ImproperlyConfigured("Unset WEBHOOK_DEV_HOSTS: only a sandbox may have it.")
DELIVERY_DAYS = env.int("DELIVERY_DAYS", default=30)

# --- Background work ------------------------------------------------------------------------

CELERY_BROKER_URL = broker_url(REDIS_URL)
# However long Redis is away, workers and beat come back by themselves. Without the time-outs
# they would wait without end on a connection whose other end is gone without a word.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
    "socket_keepalive": True,
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"webhooks.tasks.drain": {"queue": "webhooks"}}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = SCHEDULE

# --- Mail -----------------------------------------------------------------------------------

# Without an address, mails are written to the process's output.
vars().update(env.email_url("EMAIL_URL", default="consolemail://"))
if LIVEMODE and env.email_url("EMAIL_URL", default="consolemail://")["EMAIL_BACKEND"].endswith(
    ("console.EmailBackend", "dummy.EmailBackend")
):
    raise environ.ImproperlyConfigured(
        "Set EMAIL_URL to a mail server, such as smtp+tls://user:password@host:587: live mails"
        " have links that let people in, and the log is no place for them."
    )
EMAIL_TIMEOUT = 10
_mail_host = f"[{_base.hostname}]" if ":" in _base.hostname else _base.hostname
DEFAULT_FROM_EMAIL = env.str("DEFAULT_FROM_EMAIL", default=f"payments@{_mail_host}")
if not is_mail_address(DEFAULT_FROM_EMAIL):
    raise environ.ImproperlyConfigured(
        "Set DEFAULT_FROM_EMAIL to one address, such as payments@pay.example or"
        ' "Acme, Inc" <payments@pay.example>: a name with a comma stands in quotes.'
    )

# --- People ---------------------------------------------------------------------------------

AUTH_USER_MODEL = "merchants.User"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "panel:home"
LOGOUT_REDIRECT_URL = LOGIN_URL
# The limits of signing in are in merchants.sign_in and merchants.passwords (docs/signing-in.md).
AUTHENTICATION_BACKENDS = ["merchants.sign_in.PasswordBackend"]
PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
# Per address, of right passwords and codes and wrong ones.
SIGN_INS_PER_MINUTE = 30
# required: whoever has no second factor reaches only the pages to make one.
SECOND_FACTOR = env.str("SECOND_FACTOR", default="required" if LIVEMODE else "optional")
if SECOND_FACTOR not in ("required", "optional"):
    raise environ.ImproperlyConfigured("Set SECOND_FACTOR to required or optional.")
# Where operators may come from; elsewhere /admin/ is 404.
_networks = env.list("OPERATOR_NETWORKS", default=[])
try:
    OPERATOR_NETWORKS = [ip_network(network.strip()) for network in _networks]
except ValueError as error:
    raise environ.ImproperlyConfigured(
        "Set OPERATOR_NETWORKS to networks, separated by commas, such as 10.0.0.0/8."
    ) from error
SESSION_ENGINE = "merchants.sessions"
SESSION_IDLE_SECONDS = 15 * 60 if LIVEMODE else 12 * 3600
SESSION_SECONDS = 12 * 3600 if LIVEMODE else 7 * 86_400
# The server says when a session ends; a cookie with an end would have to be sent anew each time.
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
PASSWORD_RESET_TIMEOUT = 3600
# Of django-allauth alone, which counts the tries of some forms and the codes that were used: it
# holds for all processes, and without Redis. The table is made by a migration of merchants.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "sign_in_cache",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
        "KEY_FUNCTION": "panel.account.cache.hidden_key",
    }
}
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]

# --- django-allauth: people sign in (docs/signing-in.md) --------------------------------------

ACCOUNT_ADAPTER = "panel.account.adapters.AccountAdapter"
MFA_ADAPTER = "panel.account.adapters.SecondFactorAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]  # Not open; its check compares it with the above.
# Accounts come by invitation: the address is proved before there is one.
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ALLOW_UNVERIFIED_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_SESSION_REMEMBER = False
# allauth's own would copy addresses into a table of its own, and find people by them.
_generator = "django.contrib.auth.tokens.PasswordResetTokenGenerator"
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = _generator
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# Passwords and codes are counted by merchants.sign_in.
ACCOUNT_RATE_LIMITS = {
    "login": None,
    "login_failed": None,
    "reauthenticate": None,
    "change_password": None,
}
ACCOUNT_FORMS = {
    "change_password": "panel.account.forms.PasswordChangeForm",
    "reset_password": "panel.account.forms.PasswordResetForm",
}
MFA_FORMS = {
    "authenticate": "panel.account.forms.CodeForm",
    "reauthenticate": "panel.account.forms.CodeAgainForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_TOLERANCE = 0
MFA_TOTP_ISSUER = f"Card payments ({PANEL_HOST})"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not LIVEMODE and PANEL_URL.startswith("http://localhost")

# --- Language, time, logs -------------------------------------------------------------------

LANGUAGE_CODE = "en"
# In their own words. The API is English always.
LANGUAGES = [("en", "English"), ("tr", "Türkçe")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
LOGGING = logging_config(level=env.str("LOG_LEVEL", default="INFO"))
configure_logs()
