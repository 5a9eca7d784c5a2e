"""Rows written and found by `core.rows` are those that the ORM writes and finds.

Each table is stood in for by an empty one without constraints, so that any values go.
"""

import re
from copy import copy
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.apps import apps
from django.db import DatabaseError, DataError, connections, router, transaction
from django.db.models import BooleanField, DateField, DateTimeField, F, JSONField, Model
from django.db.models.fields import BinaryField, IntegerField

from core import rows
from events.models import Event
from ledger.models import Account, LedgerEntry, Movement, Run
from merchants.models import IdempotencyKey, Merchant, RequestLog
from payments.intents.models import Attempt, PaymentIntent
from testbank.models import Authorization, Capture, GarantiLine, NestpayLine
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# The models of the rows that each module writes by `core.rows`: a module that is not named here,
# or another count of writes, fails `test_every_model_that_uses_them_is_compared`.
WRITES: dict[str, tuple[type[Model], ...]] = {
    "vault/cards.py": (SealedCard,),
    "events/outbox.py": (Event, Event),
    "ledger/book/journal.py": (Movement, LedgerEntry),
    "ledger/settlement.py": (Run,),
    "api/request_logs.py": (RequestLog,),
    "payments/charging/intents.py": (PaymentIntent,),
    "payments/charging/confirmation.py": (Attempt,),
    "payments/bank/attempts.py": (Attempt,),
    "payments/intents/transition.py": (PaymentIntent,),
    "testbank/book.py": (Authorization, Capture),
    "testbank/garanti/lines.py": (GarantiLine,),
    "testbank/nestpay/lines.py": (NestpayLine,),
}
WRITTEN = tuple(dict.fromkeys(model for models in WRITES.values() for model in models))
FOUND = (PaymentIntent, Attempt, IdempotencyKey, Account, Run, Merchant)
# Of each kind of column, besides null: plain values, and those that are written in another way.
JSON = {
    "": None, "big": 10**30, "fraction": 0.1, "%s": ["%", "İ ğ \\ \" '"], "nested": {"1": [{}, []]},
    "long": "x" * 5000, "\u2028": "😀",
}  # fmt: skip
PLAIN = ("plain", 1, True, date(2026, 2, 28), datetime(2026, 1, 2, tzinfo=UTC), {}, b"")
ODD = (
    "%s %% İ '\"\\ 😀", -(2**15), False, date(1, 1, 1), datetime(2026, 1, 2, 3, 4, 5, 6, UTC), JSON,
    bytes(range(256)),
)  # fmt: skip
NULLS = (None,) * 7


def filled(model: type[Model], kinds: tuple[Any, ...]) -> Any:
    text, number, truth, day, moment, document, raw = kinds
    row = model()
    for field in model._meta.concrete_fields:
        value: Any = text and text[: field.max_length]
        for kind, other in (
            (IntegerField, number), (BooleanField, truth), (JSONField, document),
            (BinaryField, raw), (DateField, day), (DateTimeField, moment),
        ):  # fmt: skip
            if isinstance(field.target_field if field.remote_field else field, kind):
                value = other
        if value is None and not field.null:
            value = getattr(filled(model, PLAIN), field.attname)
        setattr(row, field.attname, value)
    return row


def database_of(model: type[Model]) -> Any:
    return connections[router.db_for_write(model)]


def stand_in(model: type[Model]) -> None:
    table = model._meta.db_table
    with database_of(model).cursor() as cursor:
        # psycopg forgets what is prepared with the first: a plan would name the real table.
        cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{table}")
        cursor.execute(
            f"CREATE TEMPORARY TABLE {table} (LIKE public.{table} INCLUDING DEFAULTS"
            " INCLUDING IDENTITY) ON COMMIT DROP"
        )


def stored(model: type[Model]) -> list[str]:
    """Return the rows as PostgreSQL shows them, without the ids that it gave itself."""
    with database_of(model).cursor() as cursor:
        cursor.execute(
            f"SELECT to_jsonb(one) {_LEAVE.get(model, '')}"  # noqa: S608
            f" FROM {model._meta.db_table} one"
        )
        return [str(row) for [row] in cursor.fetchall()]


_LEAVE = dict.fromkeys((LedgerEntry, Authorization, Capture, GarantiLine, NestpayLine), "- 'id'")


@pytest.mark.every_case("rows that are written and read by hand are as the ORM's")
@pytest.mark.parametrize("kinds", [PLAIN, ODD, NULLS], ids=["plain", "odd", "nulls"])
@pytest.mark.parametrize("model", WRITTEN)
def test_a_row_is_inserted_as_by_the_orm(model: type[Model], kinds: tuple[Any, ...]) -> None:
    require_inserted_alike(model, kinds)


def require_inserted_alike(model: type[Model], kinds: tuple[Any, ...]) -> None:
    stand_in(model)
    row = filled(model, kinds)

    if model in _LEAVE:
        row.pk = None  # The database gives it.
    copy(row).save(force_insert=True)
    rows.insert(copy(row))
    rows.insert_lossily(copy(row))
    assert rows.insert_after(copy(row), "SELECT %(one)s::text", one="1")
    assert not rows.insert_after(copy(row), "SELECT %(one)s::text LIMIT 0", one="1")
    rows.insert_all([copy(row), copy(row)])
    new = copy(row)
    assert rows.insert_new(new)

    by_orm, *ours = stored(model)
    assert ours == [by_orm] * 6
    assert model._default_manager.filter(pk=new.pk).exists()


@pytest.mark.every_case("rows that are written and read by hand are as the ORM's")
@pytest.mark.parametrize("kinds", [PLAIN, ODD, NULLS], ids=["plain", "odd", "nulls"])
@pytest.mark.parametrize("model", [PaymentIntent, Attempt])
def test_a_row_is_changed_as_by_the_orm(model: type[Model], kinds: tuple[Any, ...]) -> None:
    require_changed_alike(model, kinds)


def require_changed_alike(model: type[Model], kinds: tuple[Any, ...]) -> None:
    stand_in(model)
    row, first = filled(model, kinds), filled(model, PLAIN)
    row.pk = first.pk
    first.save(force_insert=True)

    row.save(force_update=True)
    by_orm = stored(model)
    first.save(force_update=True)
    rows.update(row)

    assert stored(model) == by_orm


@pytest.mark.every_case("rows that are written and read by hand are as the ORM's")
@pytest.mark.parametrize("kinds", [PLAIN, ODD, NULLS], ids=["plain", "odd", "nulls"])
@pytest.mark.parametrize("model", FOUND)
def test_a_row_is_read_as_by_the_orm(model: type[Model], kinds: tuple[Any, ...]) -> None:
    require_read_alike(model, kinds)


def require_read_alike(model: type[Model], kinds: tuple[Any, ...]) -> None:
    stand_in(model)
    filled(model, kinds).save(force_insert=True)

    [by_orm] = model._default_manager.all()
    ours = rows.find(model, "true")

    assert shown(ours) == shown(by_orm)


def shown(row: Any) -> dict[str, tuple[type, Any]]:
    return {name: (type(value), value) for name, value in vars(row).items() if name != "_state"}


def test_only_named_columns_are_changed() -> None:
    stand_in(PaymentIntent)
    row = filled(PaymentIntent, PLAIN)
    rows.insert(row)

    row.amount, row.description = 5, "not named"
    rows.update(row, "amount")

    found = PaymentIntent.objects.get()
    assert (found.amount, found.description) == (5, "plain")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("description", "a\x00b"), ("description", "x" * 1001), ("amount", 2**63),
        ("installments", 2**15), ("metadata", {"a": "\x00"}), ("status", None),
    ],
)  # fmt: skip
def test_a_value_that_the_orm_cannot_write_is_refused_alike(name: str, value: Any) -> None:
    stand_in(PaymentIntent)
    row = filled(PaymentIntent, PLAIN)
    setattr(row, name, value)

    assert refusal(lambda: rows.insert(copy(row))) is refusal(
        lambda: copy(row).save(force_insert=True)
    )


def refusal(write: Any) -> type[Exception]:
    with pytest.raises(DatabaseError) as refused, transaction.atomic():
        write()
    return refused.type


def test_an_expression_is_refused() -> None:
    row = filled(PaymentIntent, PLAIN)
    row.amount = F("surcharge") + 1

    with pytest.raises(TypeError):
        rows.insert(row)


def test_a_row_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(DatabaseError):
        rows.update(filled(PaymentIntent, PLAIN), "amount")


def test_a_nul_is_no_condition() -> None:
    with pytest.raises(DataError):
        rows.find(PaymentIntent, "id = %(id)s::text", id="pi_\x00")


@pytest.mark.parametrize("kept", ["INSERT", "UPDATE", "SELECT"])
def test_a_column_that_the_kept_statement_does_not_know_is_found(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plant one in the model after the statement was put together, as a forgotten cache would."""
    compare = {
        "INSERT": lambda: require_inserted_alike(PaymentIntent, ODD),
        "UPDATE": lambda: require_changed_alike(PaymentIntent, ODD),
        "SELECT": lambda: require_read_alike(PaymentIntent, ODD),
    }[kept]
    compare()
    without = [one for one in PaymentIntent._meta.concrete_fields if one.name != "description"]
    of_before = SimpleNamespace(
        pk=PaymentIntent._meta.pk, concrete_fields=without, db_table=PaymentIntent._meta.db_table
    )
    stale = cast(Any, SimpleNamespace(_meta=of_before))
    for name in ("_insertion", "_change", "_search"):
        real = getattr(rows, name).__wrapped__
        monkeypatch.setattr(rows, name, lambda _model, *more, real=real: real(stale, *more))
    monkeypatch.setattr(rows, "_careful_insertion", rows._careful_insertion.__wrapped__)
    monkeypatch.setattr(rows, "_insertion_after", rows._insertion_after.__wrapped__)

    # A row that is read has fewer values than the model has columns.
    with pytest.raises((AssertionError, ValueError)):
        compare()


def test_a_row_that_is_there_already_is_not_inserted() -> None:
    stand_in(Authorization)
    with database_of(Authorization).cursor() as cursor:
        cursor.execute("CREATE UNIQUE INDEX ON pg_temp.testbank_authorization (reference)")
    first, second = filled(Authorization, PLAIN), filled(Authorization, PLAIN)
    first.pk = second.pk = None

    assert [rows.insert_new(first), rows.insert_new(second)] == [True, False]
    assert (first.pk is None, second.pk) == (False, None)


def test_every_model_that_uses_them_is_compared() -> None:
    """Find the uses in the code: each `rows.find(Model, …)`, and in each module each write."""
    root = Path(__file__).parents[2]
    ours = [Path(app.path) for app in apps.get_app_configs() if ".venv" not in app.path]
    rooms = {path.relative_to(root).parts[0] for path in ours if path.is_relative_to(root)}
    modules = {
        str(path.relative_to(root)): path.read_text()
        for room in rooms
        for path in (root / room).rglob("*.py")
    }
    users = {name: code for name, code in modules.items() if _IMPORT.search(code)}
    found = {model for code in users.values() for model in _FIND.findall(code)}
    writes = {name: len(_WRITE.findall(code)) for name, code in users.items()}

    assert found == {model.__name__ for model in FOUND}
    assert {name: count for name, count in writes.items() if count} == {
        name: len(models) for name, models in WRITES.items()
    }


_IMPORT = re.compile(r"^from core import (?:[\w, ]*, )?rows\b", re.MULTILINE)
_FIND = re.compile(r"\brows\.(?:find|lock|select)\((\w+),")
_WRITE = re.compile(r"\brows\.(?:insert\w*|update)\b")
