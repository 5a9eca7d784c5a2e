"""Attempts as rows, with the constraints and indexes that guard and find them."""

from datetime import datetime

from django.db import models
from django.db.models import F, Q

from acquirers.conversation.models import InDoubt
from acquirers.models import Terminal
from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payments.intents.models.intents import PaymentIntent
from payments.intents.states import OPEN_ATTEMPT, SUCCESSFUL_ATTEMPT, AttemptStatus
from vault.models import SealedCard


class Attempt(InDoubt):
    """One try to get the money. The row exists before the bank is called (contract 2, Attempt)."""

    class PayerIpSource(models.TextChoices):
        """The source of the payer's address that the bank gets."""

        GIVEN = "given"  # By the merchant.
        PAGE = "page"  # The browser that opened a page of ours.
        CALLER = "caller"  # The client that called the API.

    read_with = ("intent", "terminal")

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent, models.PROTECT, related_name="attempts", db_constraint=False
    )
    status = models.CharField(
        max_length=16, choices=AttemptStatus, default=AttemptStatus.PROCESSING
    )
    # The terminal that is asked; it never changes, so that a void goes where the charge went.
    terminal = models.ForeignKey(Terminal, models.PROTECT, related_name="+", db_index=False)
    # Ours, sent to the bank with everything that concerns this attempt.
    acquirer_reference = CodeField(max_length=40, unique=True)
    amount = models.BigIntegerField()
    surcharge = models.BigIntegerField(default=0)
    # Internal: by which the surcharge was worked out, and the card's programme.
    surcharge_rate_bps = models.IntegerField(default=0)
    program = models.CharField(max_length=40, null=True)
    captured_minor = models.BigIntegerField(default=0)
    # The merchant's fee in minor units, and the moment at which the capture was booked. The bank
    # may have been asked for it days before (`deadlines.money_asked_at`).
    fee = models.BigIntegerField(default=0)
    captured_at = models.DateTimeField(null=True)
    currency = models.CharField(max_length=3)
    installments = models.SmallIntegerField(default=1)
    capture_method = models.CharField(max_length=9, choices=PaymentIntent.CaptureMethod)
    sealed_card = models.ForeignKey(
        SealedCard, models.PROTECT, related_name="+", db_constraint=False
    )
    card = JSONField()
    return_url = models.CharField(max_length=2000, null=True)
    three_d_secure_requested = models.CharField(max_length=9)
    # Decided when the attempt opens: the merchant asked for it, a domestic debit card, over the
    # limits; or because the bank softly declined the attempt before this one.
    authentication_demanded = models.BooleanField(default=False)
    # The day whose limit without 3-D Secure counts it, in the merchant's time zone: `NonSecureDay`.
    non_secure_day = models.DateField(null=True)
    # The course of 3-D Secure, as the API shows it: flow, result, version, eci, transaction_id.
    authentication = JSONField(default=dict)
    acs_url = models.CharField(max_length=2000, null=True)
    # For a bank that takes the card from the payer's browser: the origins that its form may lead
    # to, the browser that pressed the button first, and whether the bank may have charged since
    # by itself (`payments.payer.handoffs`).
    hand_off = JSONField(null=True)
    # Internal: the authentication's outcome, and when it was used up.
    md_status = models.CharField(max_length=2, null=True)
    authenticated_at = models.DateTimeField(null=True)
    error = JSONField(null=True)
    # The verdict about its risk (`payments.risk.verdicts.Verdict`), and keyed fingerprints of its
    # payer: by these the attempts of a card and of an e-mail address are counted.
    risk = JSONField(null=True)
    card_fingerprint = CodeField(max_length=75, null=True)
    email_fingerprint = CodeField(max_length=75, null=True)
    # Of the payer's network; null unless the card was typed on a page of ours.
    network_fingerprint = CodeField(max_length=75, null=True)
    # The address itself is sealed with the card, and destroyed with it.
    payer_ip_source = models.CharField(max_length=6, choices=PayerIpSource, null=True)
    # Neither one that a rule blocked, nor one that another one with 3-D Secure followed.
    is_counted = models.BooleanField(db_default=True)
    # By the bank, for a reason of the card's.
    is_declined = models.BooleanField(db_default=False)
    authorization_code = models.CharField(max_length=40, null=True)
    network_reference = models.CharField(max_length=80, null=True)
    # Internal: the bank's own code and words for its answer to the authorisation, and its numbers.
    bank_code = models.CharField(max_length=40, null=True)
    bank_text = models.CharField(max_length=200, null=True)
    bank_numbers = JSONField(null=True)
    created_at = models.DateTimeField()
    # When a charge after the end was given back: only in rows of `render.ATTEMPTS`.
    reversed_at: datetime | None

    objects = MerchantManager()

    class Meta(InDoubt.Meta):
        indexes = [
            *InDoubt.Meta.indexes,
            models.Index(fields=["merchant", "created_at"], name="attempts_of_a_merchants_day"),
            models.Index(
                fields=["card_fingerprint", "created_at"],
                condition=Q(is_counted=True),
                name="attempts_with_a_card",
            ),
            models.Index(
                fields=["email_fingerprint", "created_at", "card_fingerprint"],
                condition=Q(is_counted=True),
                name="attempts_with_an_email",
            ),
            models.Index(
                fields=["network_fingerprint", "created_at"],
                condition=Q(is_declined=True, network_fingerprint__isnull=False),
                name="declined_attempts_of_a_network",
            ),
            # Attempts that the bank has not answered for long become cases.
            models.Index(
                fields=["asked_at"],
                condition=Q(status=AttemptStatus.PROCESSING),
                name="attempts_without_an_answer",
            ),
            # By time first: the job looks at the last minutes of all merchants at once.
            models.Index(
                fields=["created_at", "merchant", "card_fingerprint"],
                condition=Q(is_declined=True),
                name="declined_attempts_by_time",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="an_attempt_has_one_merchant"),
            models.UniqueConstraint(
                fields=["intent", "merchant"],
                condition=Q(status__in=(*OPEN_ATTEMPT, *SUCCESSFUL_ATTEMPT)),
                name="one_open_or_successful_attempt_per_payment",
            ),
            models.CheckConstraint(
                condition=Q(amount__gte=1, surcharge__gte=0), name="an_attempt_asks_for_money"
            ),
            models.CheckConstraint(
                condition=Q(installments__gte=2) | Q(installments=1, surcharge=0),
                name="an_attempt_at_once_costs_nothing",
            ),
            models.CheckConstraint(
                condition=Q(captured_minor=0)
                | Q(
                    status=AttemptStatus.SUCCEEDED,
                    captured_minor__gte=1,
                    captured_minor__lte=F("amount") + F("surcharge"),
                ),
                name="an_attempt_captures_at_most_what_it_asked_for",
            ),
            models.CheckConstraint(
                condition=Q(status__in=OPEN_ATTEMPT, closed_at__isnull=True)
                | (~Q(status__in=OPEN_ATTEMPT) & Q(closed_at__isnull=False)),
                name="an_attempt_is_open_or_closed",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def may_be_charged_unseen(self) -> bool:
        """Return whether the bank may charge while the payer is away, whether they return or not.

        So at a gate that charges by itself, once a browser has got its form.
        """
        is_away = self.status == AttemptStatus.REQUIRES_ACTION
        return is_away and bool((self.hand_off or {}).get("charges"))
