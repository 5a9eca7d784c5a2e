"""The router of the two databases: the bank's book lives in the bank's own."""

from typing import Any

from django.db.models import Model

BANK = "bank"


class BankRouter:
    """Send the test bank's tables to the alias `bank`, everybody else's past it.

    The two databases may lie on different servers, so a join or a foreign key
    between them must never look as if it worked.
    """

    def db_for_read(self, model: type[Model], **_hints: Any) -> str | None:
        return BANK if model._meta.app_label == "testbank" else None

    def db_for_write(self, model: type[Model], **_hints: Any) -> str | None:
        return BANK if model._meta.app_label == "testbank" else None

    def allow_relation(self, one: Model, other: Model, **_hints: Any) -> bool | None:
        is_the_banks = {model._meta.app_label == "testbank" for model in (one, other)}
        return False if len(is_the_banks) == 2 else None

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool:
        return (db == BANK) == (app_label == "testbank")
