"""The bank's own book of what it really did. It holds a behaviour's name, never a card number."""

from django.db import models
from django.db.models import F, Q

from core.fields import CodeField
from testbank.states import AuthenticationState, Decision, RiskLevel, State

# The shortest card number has 13 digits; nothing the book keeps has that many in a row.
DIGITS_OF_A_CARD = "[0-9]{13}"


class Authorization(models.Model):
    """One authorisation, by the reference that the service chose. Amounts in minor units."""

    reference = CodeField(max_length=64, unique=True)
    merchant = models.CharField(max_length=64)
    amount = models.BigIntegerField()
    capture = models.BooleanField(help_text="Whether the money is taken with the yes.")
    captured_amount = models.BigIntegerField(default=0)
    currency = models.CharField(max_length=3)
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

    class Meta:
        indexes = [
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
                condition=Q(captured_amount__gte=0, captured_amount__lte=F("amount")),
                name="bank_captures_at_most_what_it_authorized",
            ),
            models.CheckConstraint(
                condition=Q(captured_amount=0) | Q(state__in=[State.AUTHORIZED, State.VOIDED]),
                name="bank_captures_only_what_it_authorized",
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


UNDECIDED = Q(decision="", eci="", cavv="", signature="", decided_at=None)
DECIDED = ~Q(decision="") & ~Q(eci="") & ~Q(signature="") & Q(decided_at__isnull=False)


class Authentication(models.Model):
    """One 3-D Secure authentication, by the reference that the service chose.

    Once decided, the answer to it is kept as it was signed. `return_origin` is where
    the payer goes after the service: the pages' content policy must allow it.
    """

    reference = CodeField(max_length=64, unique=True)
    transaction_id = CodeField(max_length=32, unique=True)
    merchant = models.CharField(max_length=64)
    merchant_name = models.CharField(max_length=250)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    brand = models.CharField(max_length=16, blank=True)
    last4 = models.CharField(max_length=4)
    behaviour = models.CharField(max_length=64)
    callback_url = models.CharField(max_length=2000)
    return_origin = models.CharField(max_length=300)
    state = models.CharField(max_length=32, choices=AuthenticationState)
    decision = models.CharField(max_length=16, choices=Decision, blank=True)
    eci = models.CharField(max_length=2, blank=True)
    cavv = models.CharField(max_length=28, blank=True)
    signature = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1),
                name="bank_authenticates_at_least_one_minor_unit",
            ),
            models.CheckConstraint(
                condition=(
                    Q(
                        UNDECIDED,
                        state__in=[
                            AuthenticationState.CANNOT_START,
                            AuthenticationState.CHALLENGED,
                        ],
                    )
                    | Q(DECIDED, state=AuthenticationState.NOT_AUTHENTICATED, cavv="")
                    | (Q(DECIDED, state=AuthenticationState.AUTHENTICATED) & ~Q(cavv=""))
                ),
                name="bank_signs_what_was_decided_and_nothing_else",
            ),
            models.CheckConstraint(
                condition=Q(last4__regex="^[0-9]{4}$")
                & ~(
                    Q(reference__regex=DIGITS_OF_A_CARD)
                    | Q(transaction_id__regex=DIGITS_OF_A_CARD)
                    | Q(merchant__regex=DIGITS_OF_A_CARD)
                    | Q(behaviour__regex=DIGITS_OF_A_CARD)
                ),
                name="bank_authenticates_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return self.reference
