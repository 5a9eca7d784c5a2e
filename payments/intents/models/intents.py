"""Payments and their line items as rows, with the constraints and indexes of both."""

from django.contrib.postgres.indexes import OpClass
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left

from core.fields import CodeField, JSONField, id_field
from core.folding import AsciiLower, Folded
from core.querysets import MerchantManager
from payments.customers.models import Customer
from payments.intents.states import PaymentStatus
from vault.models import SealedCard

# `q` is compared with these texts; indexes hold the same expressions (contract 7).
DESCRIPTION_START = Left(Folded("description"), 255)
# An address is written with the A-label of its domain: its ASCII lower case is its key.
BILLING_EMAIL = AsciiLower(KeyTextTransform("email", "billing_details"))
# Parts of the card, as filters ask for them.
CARD_LAST4 = KeyTextTransform("last4", "card")
CARD_PROGRAM = KeyTextTransform("program", "card")
CARD_ISSUER = KeyTextTransform("issuer", "card")


class PaymentIntent(models.Model):
    """One payment that a merchant asks for, through all its attempts (spec: PaymentIntent).

    The fields that the API shows change only together with an event, or by the merchant's own
    update. A request to the bank that is under way is written in the open attempt.
    """

    class CaptureMethod(models.TextChoices):
        AUTOMATIC = "automatic"
        MANUAL = "manual"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    status = models.CharField(max_length=24, choices=PaymentStatus)
    capture_method = models.CharField(max_length=9, choices=CaptureMethod)
    currency = models.CharField(max_length=3)
    # All in minor units.
    amount = models.BigIntegerField()
    surcharge = models.BigIntegerField(default=0)
    authorized_minor = models.BigIntegerField(default=0)
    amount_capturable = models.BigIntegerField(default=0)
    captured_minor = models.BigIntegerField(default=0)
    captured_surcharge = models.BigIntegerField(default=0)
    refunded_minor = models.BigIntegerField(default=0)
    # Of open and lost disputes, so that what can be refunded is known without another table.
    disputed_minor = models.BigIntegerField(default=0)
    installments = models.SmallIntegerField(default=1)

    customer = models.ForeignKey(
        Customer,
        models.PROTECT,
        null=True,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    description = models.CharField(max_length=1000, null=True)
    metadata = JSONField(default=dict)
    return_url = models.CharField(max_length=2000, null=True)
    # Name, e-mail and address: for search and panel, never returned by the API.
    billing_details = JSONField(default=dict)

    # The card given and not yet tried; dropped when its attempt fails or the payment is canceled.
    # No index: no query looks payments up by it, and a card's row is never deleted.
    sealed_card = models.ForeignKey(
        SealedCard, models.PROTECT, null=True, related_name="+", db_constraint=False, db_index=False
    )
    # The parts of the last card given or tried that may be shown: never its whole number.
    card = JSONField(null=True)
    three_d_secure_requested = models.CharField(max_length=9, default="automatic")
    three_d_secure_effective = models.CharField(max_length=9, default="automatic")
    next_action = JSONField(null=True)
    last_payment_error = JSONField(null=True)
    fraud = JSONField(null=True)

    # Ids, oldest first, so that a payment is shown without reading other tables.
    attempt_ids = JSONField(default=list)
    line_item_ids = JSONField(default=list)
    # The newest one: its room is above this one, and follows the payment while this is set.
    checkout_session = CodeField(max_length=40, null=True)

    canceled_at = models.DateTimeField(null=True)
    cancellation_reason = models.CharField(max_length=30, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        permissions = [("judge_fraud", "Can call a payment fraud, or clear it")]
        indexes = [
            # One for each order and each frequent filter, in the order of the list: a page reads
            # only its own rows.
            models.Index(fields=["merchant", "created_at", "id"], name="payments_of_a_merchant"),
            models.Index(fields=["merchant", "amount", "id"], name="payments_by_amount"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="payments_by_status"
            ),
            # With what both are asked for together, so that a count reads the index alone.
            models.Index(
                fields=["merchant", "currency", "created_at", "id"],
                include=["status", "capture_method"],
                name="payments_by_currency",
            ),
            models.Index(
                fields=["merchant", "capture_method", "created_at", "id"],
                include=["status", "currency"],
                name="payments_by_capture_method",
            ),
            models.Index(
                fields=["merchant", "customer", "created_at", "id"],
                name="payments_of_a_customer",
                condition=Q(customer__isnull=False),
            ),
            # Not partial: PostgreSQL keeps no statistics of an expression for a part of the rows,
            # and would sort all payments that begin like most of them do.
            models.Index(
                "merchant",
                OpClass(DESCRIPTION_START, name="text_pattern_ops"),
                name="payments_by_description",
            ),
            # Of all merchants: the few that wait for a person.
            models.Index(
                fields=["id"], name="payments_in_review", condition=Q(fraud__status="review")
            ),
            models.Index(
                "merchant",
                BILLING_EMAIL,
                name="payments_by_billing_email",
            ),
            models.Index("merchant", CARD_LAST4, "created_at", "id", name="payments_by_last4"),
            models.Index("merchant", CARD_PROGRAM, "created_at", "id", name="payments_by_program"),
            models.Index("merchant", CARD_ISSUER, "created_at", "id", name="payments_by_issuer"),
            # Partial: what most payments have is found without an index, and costs them none.
            models.Index(
                fields=["merchant", "installments", "created_at", "id"],
                name="payments_by_installments",
                condition=Q(installments__gt=1),
            ),
            models.Index(
                fields=["merchant", "created_at", "id"],
                name="payments_of_foreign_cards",
                condition=Q(card__domestic=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_payment_has_one_merchant"),
            models.CheckConstraint(
                condition=Q(amount__range=(1, 999_999_999_999)), name="a_payment_is_at_least_one"
            ),
            models.CheckConstraint(
                condition=Q(
                    surcharge__gte=0,
                    amount_capturable__gte=0,
                    captured_surcharge__gte=0,
                    disputed_minor__gte=0,
                ),
                name="no_part_of_a_payment_is_negative",
            ),
            models.CheckConstraint(
                condition=Q(authorized_minor__in=(0, F("amount") + F("surcharge"))),
                name="authorized_is_nothing_or_amount_and_surcharge",
            ),
            models.CheckConstraint(
                condition=Q(
                    refunded_minor__gte=0,
                    refunded_minor__lte=F("captured_minor"),
                    captured_minor__lte=F("authorized_minor") - F("amount_capturable"),
                    captured_surcharge__lte=F("captured_minor"),
                ),
                name="refunded_is_within_captured_is_within_authorized",
            ),
            models.CheckConstraint(
                condition=Q(currency__regex="^[a-z]{3}$"), name="a_payment_has_a_small_currency"
            ),
            models.CheckConstraint(
                condition=~Q(status=PaymentStatus.SUCCEEDED) | Q(captured_minor__gt=0),
                name="a_succeeded_payment_has_money",
            ),
            models.CheckConstraint(
                condition=~Q(status=PaymentStatus.REQUIRES_CONFIRMATION)
                | Q(sealed_card__isnull=False),
                name="a_payment_to_confirm_has_a_card",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def amount_refundable(self) -> int:
        """Return what can be given back, in minor units: neither refunded nor disputed so far."""
        return max(0, self.captured_minor - self.refunded_minor - self.disputed_minor)


class LineItem(models.Model):
    """One line of what is paid for; their amounts sum to the payment's (contract 2)."""

    class ItemType(models.TextChoices):
        PHYSICAL = "physical"
        VIRTUAL = "virtual"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent, models.PROTECT, related_name="line_items", db_constraint=False
    )
    position = models.SmallIntegerField()
    name = models.CharField(max_length=500)
    quantity = models.IntegerField()
    unit_amount = models.BigIntegerField()
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    tax_amount = models.BigIntegerField()
    discount_amount = models.BigIntegerField()
    product_code = models.CharField(max_length=200, null=True)
    category = models.CharField(max_length=200, null=True)
    item_type = models.CharField(max_length=8, choices=ItemType, null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    amount=F("quantity") * F("unit_amount") + F("tax_amount") - F("discount_amount")
                )
                & Q(amount__gte=0),
                name="a_line_items_amount_is_what_its_parts_make",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.name}"
