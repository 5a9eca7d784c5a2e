"""An account that was opened through the real doors, written again by one statement."""

import copy
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any

from django.db import connection, models, transaction
from django.utils import timezone

from core import ids
from merchants import audit_log, keys
from merchants.accounts import Opened
from merchants.models import ApiKey, Merchant

# Values that each writing has of its own; all others are those of the account that was opened.
OWN = {
    (Merchant, "id"): "merchant", (Merchant, "created_at"): "now", (ApiKey, "id"): "key",
    (ApiKey, "hash"): "hash", (ApiKey, "last4"): "last4", (ApiKey, "created_at"): "now",
}  # fmt: skip


class AccountTemplate:
    """The rows of an opened account, apart from the audit log's."""

    def __init__(self, opened: Opened) -> None:
        self._opened = copy.deepcopy(opened)
        merchant = opened.merchant
        self._key = merchant.api_keys.get()
        belongings = [merchant.members, merchant.websites, merchant.non_secure_limits]
        self.rows = [merchant, *(row for kind in belongings for row in kind.order_by("id"))]
        self.rows.append(self._key)
        self._constants: dict[str, Any] = {}

    @cached_property
    def _statement(self) -> str:
        # Nothing is written where the owner's address is taken.
        owner = f"{self._insert([self._opened.owner])} ON CONFLICT DO NOTHING RETURNING id"
        inserts = [
            f"{model.__name__}_rows AS ({self._insert(list(rows))})"
            for model, rows in groupby(self.rows, type)
        ]
        return f"WITH owner AS ({owner}), {', '.join(inserts)} SELECT id FROM owner"  # noqa: S608

    def write(self) -> Opened | None:
        """Insert the rows with a new id and a new key; None if the owner is there already."""
        secret = keys.new_secret()
        own = {
            "merchant": ids.new("mer"), "key": ids.new("key"), "now": timezone.now(),
            "hash": keys.secret_hash(secret), "last4": secret[-4:],
        }  # fmt: skip
        with transaction.atomic(savepoint=False):
            with connection.cursor() as cursor:
                cursor.execute(self._statement, self._constants | own)
                owner_ids = cursor.fetchall()
            if not owner_ids:
                return None
            opened = replace(copy.deepcopy(self._opened), secret_key=secret)
            opened.merchant.id, opened.merchant.created_at = own["merchant"], own["now"]
            [[opened.owner.pk]] = owner_ids
            self._record_key(opened.merchant, own)
        return opened

    def _record_key(self, merchant: Merchant, own: dict[str, Any]) -> None:
        shown = {"name": self._key.name, "scopes": self._key.scopes, "expires_at": None}
        after = {**shown, "last4": own["last4"]}
        audit_log.record("key.created", merchant=merchant, subject=own["key"], after=after)

    def _insert(self, rows: list[Any]) -> str:
        """Return the statement that inserts rows of one table, in their order."""
        source = "" if rows == [self._opened.owner] else "owner, LATERAL "
        columns = ", ".join(self._columns(rows[0]))
        values = ", ".join(f"({', '.join(self._columns(row).values())})" for row in rows)
        return (
            f'INSERT INTO "{rows[0]._meta.db_table}" ({columns})'  # noqa: S608
            f" SELECT written.* FROM {source}(VALUES {values}) AS written"
        )

    def _columns(self, row: models.Model) -> dict[str, str]:
        """Return the SQL of each column's value; the database gives numbers as keys."""
        columns = {}
        for field in row._meta.concrete_fields:
            if not isinstance(field, models.AutoField):
                name = self._name_of(row, field)
                cast = f"%({name})s::{field.db_type(connection)}"
                columns[f'"{field.column}"'] = "owner.id" if name == "owner" else cast
        return columns

    def _name_of(self, row: models.Model, field: Any) -> str:
        value = getattr(row, field.attname)
        if field.is_relation and value == self._opened.owner.pk:
            return "owner"
        if field.is_relation and value == self._opened.merchant.pk:
            return "merchant"
        if own := OWN.get((type(row), field.name)):
            return own
        name = f"constant_{len(self._constants)}"
        self._constants[name] = field.get_db_prep_save(value, connection)
        return name
