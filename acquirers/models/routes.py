"""Routes: which terminal takes which payments."""

from django.db import models
from django.db.models import F, Q

from acquirers.models.terminals import Terminal
from core.fields import CodeField
from merchants.models import Merchant

CALLER = "routes"  # Its name in `config.caller`.
# The merchant's own before everybody's, then by priority, the lowest number first.
ROUTES = """
    SELECT coalesce(jsonb_agg(
        to_jsonb(route) || jsonb_build_object('terminal', to_jsonb(terminal))
        ORDER BY route.merchant_id IS NULL, route.priority, route.id
    ), '[]')::text
    FROM acquirers_route route JOIN acquirers_terminal terminal ON terminal.id = route.terminal_id
    WHERE terminal.status = 'enabled'
      AND (route.merchant_id = {merchant} OR route.merchant_id IS NULL)
"""
OF_CALLER = ROUTES.format(merchant="merchants_merchant.id")
OF_MERCHANT = ROUTES.format(merchant="%(merchant)s::text")


class Route(models.Model):
    """A rule: payments that fit it may go to its terminal. What is null fits every payment."""

    terminal = models.ForeignKey(Terminal, models.CASCADE, related_name="routes")
    merchant = models.ForeignKey(Merchant, models.PROTECT, null=True, related_name="+")
    currency = CodeField(max_length=3, null=True)
    brand = CodeField(max_length=20, null=True)
    # The card was issued in the merchant's country.
    domestic = models.BooleanField(null=True)
    # Of installments, such as `bonus`.
    program = CodeField(max_length=20, null=True)
    installments_from = models.PositiveSmallIntegerField(default=1)
    installments_to = models.PositiveSmallIntegerField(null=True)
    # The lowest number comes first.
    priority = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "merchant",
                    "currency",
                    "brand",
                    "domestic",
                    "program",
                    "installments_from",
                    "installments_to",
                    "priority",
                ],
                nulls_distinct=False,
                name="no_two_routes_are_alike",
            ),  # fmt: skip
            models.CheckConstraint(
                condition=Q(installments_from__gte=1)
                & (Q(installments_to=None) | Q(installments_to__gte=F("installments_from"))),
                name="a_routes_installments_are_a_range",
            ),
        ]

    def __str__(self) -> str:
        """Return the rule as a line, such as `try visa 2-12 at 10`."""
        until = "" if self.installments_to is None else self.installments_to
        of_all = self.installments_from == 1 and self.installments_to is None
        parts = [
            self.merchant_id,
            self.currency,
            self.brand,
            {True: "domestic", False: "foreign", None: None}[self.domestic],
            self.program,
            None if of_all else f"{self.installments_from}-{until}",
        ]
        said = " ".join(part for part in parts if part) or "everything"
        return f"{said} at {self.priority}"
