"""Terminals: the contracts with banks by which this installation takes payments."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField, JSONField, SealedField, id_field
from merchants.models import Merchant


class Terminal(models.Model):
    """One contract with a bank. An attempt keeps its terminal, so that a void follows its charge.

    Kind and merchant never change (migration 0003); the values are replaced whole. Routes say
    which payments it gets.
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
    # Null: it is the installation's, for every merchant that a route leads to it.
    merchant = models.ForeignKey(Merchant, models.PROTECT, null=True, related_name="+")
    # The contract's currencies and brands of cards; empty: all.
    currencies = JSONField(default=list)
    brands = JSONField(default=list)
    # Values for the kind's adapter that may be shown, such as addresses.
    shown_values = JSONField(default=dict)
    # Its secrets: a JSON object of texts; null if it needs none.
    sealed = SealedField(null=True)
    # Requests that its acquirer refused since it last took one (`acquirers.refused_requests`).
    refused_in_a_row = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        permissions = [("manage_terminals", "Can set up terminals and routes")]
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
        """Return what the sealed values are bound to: this row, and no other."""
        return f"acquirers.terminal|{self.id}|credentials"
