"""The books after a request: the bank's own, and the number of rows in each of our tables."""

import re
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import connections, router
from django.db.models import Model

from core.models import Process
from core.redis import client as redis
from ledger.models import Account
from merchants.models import RequestLog
from tests.stage import bank_books
from tests.stage.bank_transport import BankTransport
from tests.stage.client import Answer, ApiClient

# A choice's message lists what is allowed, so these may be read in one.
ALLOWED_TO_BE_READ = {"automatic", "required", "manual", "Idempotency-Key"}

UNCOUNTED = (RequestLog, Account, Process)

OUR_ID = re.compile(r"\b[a-z]{2,8}_[0-9A-Za-z]{20,30}\b")


def captured_by_bank(client: ApiClient) -> int:
    """Return what the bank took from cards for the merchant, in minor units."""
    ours = [one for one in bank_books.orders() if one.merchant == client.merchant.id]
    return sum(one.captured_amount for one in ours)


def logged(answer: Answer) -> RequestLog:
    """Return the one row of the request log, by the id that the answer had."""
    return RequestLog.objects.get(id=answer.headers["Request-Id"])


def without_ids(text: str) -> str:
    """Return the text without our random ids: any three digits are in one of them now and then."""
    return OUR_ID.sub("", text)


def row_counts() -> dict[str, int]:
    """Return how many rows every table of ours has, and how many CVCs are held.

    Without the request log: every request has its row there, a refused one too. And without the
    ledger's accounts: those of a currency are opened, once, before all that is refused is known.
    """
    counts: dict[str, int] = {}
    for alias in connections:
        ours = [model for model in apps.get_models() if router.db_for_read(model) == alias]
        counts |= _counted(alias, [model for model in ours if model not in UNCOUNTED])
    return {**counts, "held": len(redis().keys("held:*"))}


def _counted(alias: str, models: list[type[Model]]) -> dict[str, int]:
    """Count the rows of all the tables with one statement: tests do it before and after."""
    tables = [model._meta.db_table for model in models]
    counts = [f"SELECT '{table}', count(*) FROM \"{table}\"" for table in tables]  # noqa: S608
    with connections[alias].cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts))
        return dict(cursor.fetchall())


def every_row(alias: str) -> Iterator[str]:
    """Yield each row of each table, behind the table's name, as JSON text; bytes as `\\x…`."""
    with connections[alias].cursor() as cursor:
        tables = connections[alias].introspection.table_names(cursor)
        # One statement: a test looks at a hundred tables, several times.
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{table} ' || to_jsonb(t)::text FROM \"{table}\" t"  # noqa: S608
                for table in tables
            )
        )
        yield from (row for (row,) in cursor.fetchall())


def everything_cached() -> Iterator[str]:
    """Yield each of Redis' names with its value, every byte a character."""
    for name in redis().keys("*"):
        yield (name + b" " + redis().dump(name)).decode("latin-1")


def refused(
    client: ApiClient, path: str, body: dict[str, Any], *, bank: BankTransport, **headers: str
) -> Answer:
    """POST what must be refused without a trace: no row, no bank, no value read back."""
    before, asked = row_counts(), list(bank.seen)

    answer = client.post(path, body, **headers)

    assert answer.status >= 400, answer.body
    assert row_counts() == before
    assert bank.seen == asked
    said = f"{answer.error['message']} {answer.error['param']}"
    assert [value for value in _values(body) if value in said] == []
    return answer


def _values(sent: Any) -> list[str]:
    """Return the values of a body that are long enough not to be read by accident."""
    if isinstance(sent, dict):
        return [value for inner in sent.values() for value in _values(inner)]
    if isinstance(sent, list):
        return [value for inner in sent for value in _values(inner)]
    text = str(sent)
    return [text] if len(text) > 4 and text not in ALLOWED_TO_BE_READ else []
