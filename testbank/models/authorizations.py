"""Authorisations, and the money that was taken of them or given back by a void."""

from django.db import models
from django.db.models import F, Q

from core.fields import CodeField
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.states import RiskLevel, State


class Authorization(models.Model):
    """One authorisation, by the reference that the service chose. Amounts in minor units."""

    reference = CodeField(max_length=64, unique=True)
    merchant = models.CharField(max_length=64)
    amount = models.BigIntegerField()
    capture = models.BooleanField(help_text="Whether the money is taken with the yes.")
    captured_amount = models.BigIntegerField(default=0)
    refunded_amount = models.BigIntegerField(
        default=0, help_text="Of all refunds that are neither refused nor bounced."
    )
    disputed_amount = models.BigIntegerField(
        default=0, help_text="Of all disputes that are open or lost; of no inquiry."
    )
    currency = models.CharField(max_length=3)
    installments = models.SmallIntegerField(default=1)
    behaviour = models.CharField(max_length=64)
    state = models.CharField(max_length=32, choices=State)
    response_code = models.CharField(max_length=2)
    authorization_code = models.CharField(max_length=6, blank=True)
    network_reference = models.CharField(max_length=32)
    risk_level = models.CharField(max_length=16, choices=RiskLevel)
    risk_score = models.SmallIntegerField()
    answered = models.BooleanField(help_text="Whether the caller was told.")
    created_at = models.DateTimeField()
    voided_at = models.DateTimeField(null=True)
    # When the bank takes it back by itself, as after a time-out of its host.
    reverses_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["reverses_at"],
                condition=Q(reverses_at__isnull=False),
                name="bank_reverses_by_itself",
            ),
            # The statement looks for what has lapsed before each of its pages.
            models.Index(
                fields=["created_at"],
                condition=Q(state=State.AUTHORIZED, captured_amount=0),
                name="bank_uncaptured_by_age",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_authorizes_at_least_one_minor_unit",
            ),
            models.CheckConstraint(
                condition=Q(installments__gte=1, installments__lte=12),
                name="bank_takes_1_to_12_installments",
            ),
            models.CheckConstraint(
                condition=Q(captured_amount__gte=0, captured_amount__lte=F("amount")),
                name="bank_captures_at_most_what_it_authorized",
            ),
            models.CheckConstraint(
                condition=Q(captured_amount=0) | Q(state__in=[State.AUTHORIZED, State.VOIDED]),
                name="bank_captures_only_what_it_authorized",
            ),
            models.CheckConstraint(
                condition=Q(
                    refunded_amount__gte=0,
                    disputed_amount__gte=0,
                    captured_amount__gte=F("refunded_amount") + F("disputed_amount"),
                ),
                name="bank_gives_back_at_most_what_it_captured",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.VOIDED) | Q(refunded_amount=0, disputed_amount=0),
                name="bank_gives_nothing_back_twice_after_a_void",
            ),
            models.CheckConstraint(
                condition=Q(state=State.VOIDED, voided_at__isnull=False)
                | (~Q(state=State.VOIDED) & Q(voided_at=None)),
                name="bank_says_when_it_voided",
            ),
            models.CheckConstraint(
                condition=~(
                    Q(reference__regex=DIGITS_OF_A_CARD)
                    | Q(merchant__regex=DIGITS_OF_A_CARD)
                    | Q(behaviour__regex=DIGITS_OF_A_CARD)
                    | Q(network_reference__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_keeps_no_card_number",
            ),
        ]

    def __str__(self) -> str:
        return self.reference

    @property
    def available_amount(self) -> int:
        """Return the captured money that nothing has taken back so far, in minor units."""
        if self.state == State.VOIDED:
            return 0
        return self.captured_amount - self.refunded_amount - self.disputed_amount


class Capture(models.Model):
    """Money that the bank has taken of an authorisation, in minor units."""

    authorization = models.ForeignKey(Authorization, models.PROTECT, related_name="captures")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_captures_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.authorization_id}: {self.amount}"


class Reversal(models.Model):
    """Captured money that the bank has given back by a void, in minor units."""

    authorization = models.OneToOneField(Authorization, models.PROTECT, related_name="reversal")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_gives_back_at_least_one_minor_unit",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.authorization_id}: {self.amount}"
