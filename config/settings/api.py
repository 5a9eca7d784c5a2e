"""The API: its framework, its limits, how long it keeps what."""

from pathlib import Path

import environ

from config.settings.installation import BASE_DIR, BASE_URL, LIVEMODE, env

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["api.authentication.ApiKeyAuthentication"],
    # In this order: a request that the key's scopes do not allow counts as well.
    "DEFAULT_PERMISSION_CLASSES": [
        "core.limits.WithinRate",
        "api.authentication.HasScope",
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
# Failed tries of payment pages, per IPv4 address; of a /64 network a quarter. 0 is no limit.
CHECKOUT_FAILURES_PER_MINUTE = env.int("CHECKOUT_FAILURES_PER_MINUTE", default=120)
IDEMPOTENCY_KEY_HOURS = 72
# The most that a new merchant of a sandbox takes per payment without 3-D Secure, in its currency's
# minor units. In live it takes none until an operator says so.
NON_SECURE_PER_PAYMENT = 500_000
REQUEST_LOG_DAYS = env.int("REQUEST_LOG_DAYS", default=30)
# How long a card's number is kept that no attempt needs any more.
SEALED_CARD_HOURS = 24
# Attempts from a payment page that may fail: the last of them ends the checkout session.
CHECKOUT_TRIES_MAX = 6
# How long a card is kept for its payer's next press on a payment page: as long as its CVC.
HELD_CARD_SECONDS = 900
# How long a request that died keeps others from finishing its work; above the request's budget.
REQUEST_LEASE_SECONDS = env.float("REQUEST_LEASE_SECONDS", default=60.0)
# A request that waited longer for a thread is refused: its client may have given up by now.
WEB_QUEUE_SECONDS = env.float("WEB_QUEUE_SECONDS", default=1.0)
DOCS_URL = env.str("DOCS_URL", default=f"{BASE_URL}/docs")
# The documentation's site, built by `./dev docs`.
DOCS_ROOT = Path(env.str("DOCS_ROOT", default=str(BASE_DIR / "builtdocs")))
# Set by `./dev up` alone: the file with the demo merchant's key, which its pages show in samples.
DEMO_FILE = Path(env.str("DEMO_FILE")) if env.str("DEMO_FILE", default="") else None
if LIVEMODE and DEMO_FILE:
    raise environ.ImproperlyConfigured("Unset DEMO_FILE: a live installation shows no key.")
EVENT_DAYS = env.int("EVENT_DAYS", default=90)
