"""PostgreSQL, Redis and the work that goes through them."""

import sys
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import environ

from config.beat import SCHEDULE
from config.settings.installation import LIVEMODE, env, required
from core import redis_sentinels
from core.redis import broker_url
from core.urls import is_host_and_port

# Threads per web process, as config/gunicorn.py starts them; three quarters may wait for a bank.
WEB_THREADS = env.int("WEB_THREADS", default=64)
if WEB_THREADS < 1:
    raise environ.ImproperlyConfigured("Set WEB_THREADS to 1 or more threads per process.")
ACQUIRER_SLOTS = max(1, WEB_THREADS * 3 // 4)

# In every session: locks are waited for briefly, and a transaction that nobody goes on with is
# ended, for others may wait for it. Each process proves both (core.postgresql.waits).
BOUNDED_WAITS = {"lock_timeout": "3s", "idle_in_transaction_session_timeout": "60s"}
# A pooler in between gives each transaction another session: it takes no start-up options, and
# PostgreSQL sets the waits for the role.
BEHIND_POOLER = env.bool("BEHIND_POOLER", default=False)
# For what asks for it (core.prepared); poolers keep them for a client from PgBouncer 1.22 on.
PREPARED_STATEMENTS = env.bool("PREPARED_STATEMENTS", default=not BEHIND_POOLER)
# False sends the same statements by psycopg's own cursor: a payment takes a tenth longer.
LIBPQ_CALLS = env.bool("LIBPQ_CALLS", default=True)
# Connections that all threads of a web process share, to each database (core.connections).
DATABASE_POOL = env.int("DATABASE_POOL", default=8)
if DATABASE_POOL < 1:
    raise environ.ImproperlyConfigured("Set DATABASE_POOL to 1 or more connections per process.")


# A server that is gone without a word is noticed within 15 s: its network sends nothing back.
# A parameter of the address counts instead.
NETWORK = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 14_000,  # ms
    # The name in `pg_stat_activity`, until the process knows its kind (core.connections).
    "fallback_application_name": " ".join([PurePath(sys.argv[0]).name, *sys.argv[1:2]])[:63],
}
# Each standby that may be promoted has every commit that was answered (core.installation).
SYNCHRONOUS_STANDBYS: bool = env.bool("SYNCHRONOUS_STANDBYS", default=False)


def _database(name: str, meaning: str, *, is_pooled: bool = BEHIND_POOLER) -> dict:
    url = required(name, meaning)
    if not url.startswith(("postgres://", "postgresql://")):
        raise environ.ImproperlyConfigured(f"Set {name} to {meaning}.")
    config = environ.Env.db_url_config(url)
    options = {**NETWORK, **config.get("OPTIONS", {})}
    if not is_pooled:
        session = {**BOUNDED_WAITS, "client_min_messages": "error"}
        if SYNCHRONOUS_STANDBYS:
            # The role's or the database's own would end the wait for a standby.
            session["statement_timeout"] = "0"
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
# A standby of it, for lists and exports alone (core.standby).
if env.str("READ_DATABASE_URL", default="").strip():
    DATABASES["standby"] = _database(
        "READ_DATABASE_URL", "the address of a standby of the database in DATABASE_URL"
    )
READ_MAX_LAG_SECONDS = env.int("READ_MAX_LAG_SECONDS", default=30)
if not LIVEMODE:
    DATABASES["bank"] = _database(
        "BANK_DATABASE_URL", "the postgresql:// address of a second database, the test bank's own"
    )
    DATABASE_ROUTERS = ["testbank.router.BankRouter"]
# Addresses of the tables' owner, past a pooler, for `manage.py migrate` alone. Without them the
# service's role is the owner too (core.postgresql.roles).
OWNER_DATABASES = {
    alias: _database(name, "the address of its owner", is_pooled=False)
    for alias, name in {"default": "OWNER_DATABASE_URL", "bank": "OWNER_BANK_DATABASE_URL"}.items()
    if alias in DATABASES and env.str(name, default="").strip()
}
# The address at which a process shows its metrics: `host:port` or a path, neither of them public.
METRICS_BIND = env.str("METRICS_BIND", default="").strip()
if METRICS_BIND and not (METRICS_BIND.startswith("/") or is_host_and_port(METRICS_BIND)):
    raise environ.ImproperlyConfigured(
        "Set METRICS_BIND to host:port, such as 127.0.0.1:9464, or to the path of a socket."
    )
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = required("REDIS_URL", "the address of Redis, such as redis://host:6379/0")
_WATCHED: redis_sentinels.Watched | None = None
if redis_sentinels.is_watched(REDIS_URL):
    try:
        _WATCHED = redis_sentinels.read(REDIS_URL)
    except ValueError as malformed:
        _TEXT = f"REDIS_URL names Sentinels in another form. {malformed}"
        raise environ.ImproperlyConfigured(_TEXT) from None
else:
    if not REDIS_URL.startswith(("redis://", "rediss://", "unix://")):
        raise environ.ImproperlyConfigured(
            "Set REDIS_URL to a redis://, rediss:// or unix:// address, or name its Sentinels by"
            " redis+sentinel:// or rediss+sentinel://."
        )
    if "," in urlsplit(REDIS_URL).netloc:
        raise environ.ImproperlyConfigured(
            "Set REDIS_URL to the address of one server, or name its Sentinels by"
            " redis+sentinel://: Cluster is not supported."
        )

CELERY_BROKER_URL = broker_url(REDIS_URL)
# However long Redis is away, workers and beat come back by themselves. Without the time-outs
# they would wait without end on a connection whose other end is gone without a word.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
_TIMEOUTS = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "socket_keepalive": True}
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {**_TIMEOUTS}
if _WATCHED:
    CELERY_BROKER_TRANSPORT_OPTIONS |= redis_sentinels.broker_options(_WATCHED, _TIMEOUTS)
    if _WATCHED.tls is not None:
        CELERY_BROKER_USE_SSL = {"ssl_cert_reqs": "required", **_WATCHED.tls}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"webhooks.tasks.drain": {"queue": "webhooks"}}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = SCHEDULE
# Times at which beat began its work: a file that may be lost, on a disk that can be written to.
CELERY_BEAT_SCHEDULE_FILENAME = env.str("BEAT_FILE", default="celerybeat-schedule")
CELERY_BEAT_SCHEDULER = "config.scheduler:Scheduler"
