"""A merchant's settings of the rules about risk, over those of the installation."""

from django.db import models

from core.querysets import MerchantManager
from merchants.models.merchant import Merchant


class RuleName(models.TextChoices):
    """The rules that judge a payment before the bank is asked (docs/how-to/risk.md)."""

    BLOCK_LIST = "block_list"
    CARD_VELOCITY = "card_velocity"
    CARD_DECLINES = "card_declines"
    EMAIL_VELOCITY = "email_velocity"
    EMAIL_CARDS = "email_cards"
    CARD_TESTING = "card_testing"
    ADDRESS_DECLINES = "address_declines"
    COUNTRY_MISMATCH = "country_mismatch"
    AMOUNT = "amount"


class RuleEffect(models.TextChoices):
    """The consequence of a rule that hits."""

    BLOCK = "block"
    AUTHENTICATE = "authenticate"
    REVIEW = "review"
    OFF = "off"


class RiskRule(models.Model):
    """One rule as a merchant wants it; a null takes the installation's value."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="risk_rules")
    rule = models.CharField(max_length=20, choices=RuleName)
    # Of the rule about amounts alone: one row for each currency; elsewhere empty.
    currency = models.CharField(max_length=3, blank=True, default="")
    deed = models.CharField(max_length=12, choices=RuleEffect)
    # How many attempts or cards hit; of amounts: the highest that passes, in minor units.
    threshold = models.BigIntegerField(null=True, blank=True)
    window_seconds = models.IntegerField(null=True, blank=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "rule", "currency"], name="a_merchant_sets_a_rule_once"
            ),
            models.CheckConstraint(
                condition=models.Q(rule=RuleName.AMOUNT, currency__regex="^[a-z]{3}$")
                | (~models.Q(rule=RuleName.AMOUNT) & models.Q(currency="")),
                name="the_rule_about_amounts_alone_has_a_currency",
            ),
            models.CheckConstraint(
                condition=models.Q(threshold__isnull=True) | models.Q(threshold__gte=1),
                name="a_rule_hits_from_one_on",
            ),
            models.CheckConstraint(
                condition=models.Q(window_seconds__isnull=True)
                | models.Q(window_seconds__range=(1, 604_800)),
                name="a_rule_looks_back_a_week_at_most",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} of {self.merchant_id}: {self.deed}"
