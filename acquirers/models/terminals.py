"""Terminals: the contracts with banks by which this installation takes payments."""

from typing import Any

import orjson
from django.db import models
from django.db.models import F, Q
from django.utils.dateparse import parse_datetime

from core.fields import CodeField, SealedField, id_field
from merchants.models import Merchant

CALLER = "terminal"  # Its name in `config.caller`.
# A merchant's own before the installation's, the newest before an older one.
OF_CALLER = """
    SELECT to_jsonb(terminal)::text FROM acquirers_terminal terminal
    WHERE terminal.status = 'enabled'
      AND (terminal.merchant_id = merchants_merchant.id OR terminal.merchant_id IS NULL)
    ORDER BY terminal.merchant_id, terminal.created_at DESC LIMIT 1
"""


class Terminals(models.Manager["Terminal"]):
    def open_to(self, merchant: Merchant) -> "Terminal | None":
        """Return the terminal for the merchant's new attempts, None if none is enabled.

        Costs no statement if the merchant came with an API key (`config.caller`).
        """
        if merchant.caller is not None:
            row = merchant.caller[CALLER]
            return _read(row) if row else None
        rows = self.filter(Q(merchant=merchant) | Q(merchant=None), status=Terminal.Status.ENABLED)
        return rows.order_by(F("merchant").asc(nulls_last=True), "-created_at").first()


def _read(found: str) -> "Terminal":
    values: dict[str, Any] = orjson.loads(found)
    values["created_at"] = parse_datetime(values["created_at"])
    if values["sealed"] is not None:
        values["sealed"] = bytes.fromhex(values["sealed"].removeprefix("\\x"))
    names = [field.attname for field in Terminal._meta.concrete_fields]
    return Terminal.from_db("default", names, [values[name] for name in names])


class Terminal(models.Model):
    """One contract with a bank. An attempt keeps its terminal, so that a void follows its charge.

    Kind and merchant never change (migration 0003); credentials are replaced whole.
    """

    class Status(models.TextChoices):
        ENABLED = "enabled"
        DRAINING = "draining"  # No new attempts; everything else about the old ones.
        DISABLED = "disabled"  # The bank is asked nothing at all.

    id = id_field()
    name = CodeField(max_length=40)
    # A name in `settings.ACQUIRERS`.
    kind = CodeField(max_length=20)
    status = models.CharField(max_length=8, choices=Status, default=Status.ENABLED)
    # Null: it is the installation's, for every merchant without a terminal of its own.
    merchant = models.ForeignKey(Merchant, models.PROTECT, null=True, related_name="+")
    # A JSON object of texts, which the kind's adapter reads; null if it needs none.
    sealed = SealedField(null=True)
    created_at = models.DateTimeField()

    objects = Terminals()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], name="a_terminal_has_a_name_of_its_own"),
            models.CheckConstraint(
                condition=Q(name__regex=r"^[a-z0-9][a-z0-9_-]{0,39}$"),
                name="a_terminals_name_is_small_letters_and_digits",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["enabled", "draining", "disabled"]),
                name="a_terminal_is_enabled_draining_or_disabled",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def seal_context(self) -> str:
        """Return what the sealed credentials are bound to: this row, and no other."""
        return f"acquirers.terminal|{self.id}|credentials"
