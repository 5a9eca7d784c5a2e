"""Authentications by 3-D Secure, and the bank's signed answers to them."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.states import AuthenticationState, CardholderChoice

UNDECIDED = Q(decision="", eci="", cavv="", signature="", decided_at=None)
DECIDED = ~Q(decision="") & ~Q(eci="") & ~Q(signature="") & Q(decided_at__isnull=False)


class Authentication(models.Model):
    """One 3-D Secure authentication, by the reference that the service chose.

    Once decided, the answer to it is kept as it was signed.
    """

    reference = CodeField(max_length=64, unique=True)
    transaction_id = CodeField(max_length=32, unique=True)
    merchant = models.CharField(max_length=64)
    merchant_name = models.CharField(max_length=250)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    installments = models.SmallIntegerField(default=1)
    brand = models.CharField(max_length=16, blank=True)
    last4 = models.CharField(max_length=4)
    behaviour = models.CharField(max_length=64)
    callback_url = models.CharField(max_length=2000)
    state = models.CharField(max_length=32, choices=AuthenticationState)
    decision = models.CharField(max_length=16, choices=CardholderChoice, blank=True)
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
