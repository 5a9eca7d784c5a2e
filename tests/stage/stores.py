"""All that the service keeps, opened, as one text: to be searched for what nothing may keep."""

import base64
from collections.abc import Iterator

from django.conf import settings
from django.core import mail
from django.db import connections

from core.keyring import ring
from merchants import sessions
from merchants.models import IdempotencyKey, Session
from tests.stage.books import everything_cached


def everything_kept() -> str:
    """Return rows of both databases, sessions, stored answers, caches, Redis and mails."""
    parts = [
        *rows_of("default"), *rows_of("bank"), *_sessions(), *opened_answers(), *_cached(),
        *everything_cached(), *(str(one.message()) for one in mail.outbox),
    ]  # fmt: skip
    return "\n".join(parts)


def rows_of(database: str) -> Iterator[str]:
    """Yield each table of a database, with all of its rows."""
    with connections[database].cursor() as cursor:
        for table in connections[database].introspection.table_names(cursor):
            cursor.execute(f'SELECT t::text FROM "{table}" t')  # noqa: S608
            yield str(cursor.fetchall())


def opened_answers() -> Iterator[str]:
    """Yield the sealed answers that are kept for requests and forms sent again."""
    for row in IdempotencyKey.objects.exclude(sealed_response=None):
        yield str(ring().open(bytes(row.sealed_response), context=row.seal_context))


def _sessions() -> Iterator[str]:
    for row in Session.objects.all():
        yield str(sessions._opened(row))


def _cached() -> Iterator[str]:
    """Yield the values of Django's cache, which its table has as base64."""
    table = settings.CACHES["default"]["LOCATION"]
    with connections["default"].cursor() as cursor:
        cursor.execute(f'SELECT cache_key, value FROM "{table}"')  # noqa: S608
        for name, value in cursor.fetchall():
            yield f"{name} {base64.b64decode(value).decode('latin-1')}"
