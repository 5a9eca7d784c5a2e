"""Checkout sessions as rows, with the constraints and indexes that guard and find them."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payments.checkout.states import Authentication, ExpirationReason, Locale, SessionStatus
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

# The most installments that any plan has.
INSTALLMENTS_MAX = 12


class CheckoutSession(models.Model):
    """One page on which a payer pays one payment.

    What is paid, and how it went, stands in the payment; the session never copies it.
    """

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    intent = models.ForeignKey(
        PaymentIntent,
        models.PROTECT,
        related_name="checkout_sessions",
        db_constraint=False,
        db_index=False,
    )
    # Whether the session made the payment: then it is canceled with the session.
    made_payment = models.BooleanField()
    status = models.CharField(max_length=8, choices=SessionStatus, default=SessionStatus.OPEN)
    expiration_reason = models.CharField(max_length=16, choices=ExpirationReason, null=True)
    # Attempts from the page that count, each counted before the bank is asked.
    tries = models.SmallIntegerField(default=0)

    # As they were given, with the placeholder of the session's id.
    success_url = models.CharField(max_length=2000, null=True)
    cancel_url = models.CharField(max_length=2000, null=True)
    locale = models.CharField(max_length=4, choices=Locale, default=Locale.AUTO)
    client_reference_id = models.CharField(max_length=200, null=True)
    customer = models.ForeignKey(
        Customer, models.PROTECT, null=True, related_name="+", db_constraint=False, db_index=False
    )
    # The payer's details that the merchant knows: the page does not ask for them.
    billing_details = JSONField(default=dict)
    three_d_secure = models.CharField(
        max_length=9, choices=Authentication, default=Authentication.AUTOMATIC
    )
    # The most installments that the page offers; 1 offers none.
    installments_max = models.SmallIntegerField(default=INSTALLMENTS_MAX)
    # Of the payer's last try: the payment shows it too, and the shop has not asked for it.
    chosen_installments = models.SmallIntegerField(default=1)
    metadata = JSONField(default=dict)

    # The card that was sealed for the payer's next press, and since when; used up by its attempt.
    held_card = CodeField(max_length=40, null=True)
    held_at = models.DateTimeField(null=True)
    # The details that the payer was charged with: null until the session is complete.
    customer_details = JSONField(null=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        indexes = [
            # One for each order and each filter, in the order of the list.
            models.Index(fields=["merchant", "created_at", "id"], name="sessions_of_a_merchant"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="sessions_by_status"
            ),
            models.Index(
                fields=["merchant", "intent", "created_at", "id"], name="sessions_of_a_payment"
            ),
            models.Index(
                fields=["merchant", "customer", "created_at", "id"],
                condition=Q(customer__isnull=False),
                name="sessions_of_a_customer",
            ),
            # Of all merchants: those that the job ends.
            models.Index(
                fields=["expires_at"],
                condition=Q(status=SessionStatus.OPEN),
                name="open_sessions_by_their_end",
            ),
            # Of all merchants: those whose unused card the job destroys.
            models.Index(
                fields=["held_at"],
                condition=Q(held_card__isnull=False),
                name="sessions_with_a_held_card",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["intent"],
                condition=Q(status=SessionStatus.OPEN),
                name="one_open_session_per_payment",
            ),
            models.CheckConstraint(
                condition=Q(status=SessionStatus.OPEN, ended_at__isnull=True)
                | (~Q(status=SessionStatus.OPEN) & Q(ended_at__isnull=False)),
                name="a_session_is_open_or_has_ended",
            ),
            models.CheckConstraint(
                condition=Q(status=SessionStatus.EXPIRED, expiration_reason__isnull=False)
                | (~Q(status=SessionStatus.EXPIRED) & Q(expiration_reason__isnull=True)),
                name="an_expired_session_says_why",
            ),
            models.CheckConstraint(
                condition=Q(status=SessionStatus.COMPLETE, customer_details__isnull=False)
                | (~Q(status=SessionStatus.COMPLETE) & Q(customer_details__isnull=True)),
                name="a_complete_session_says_who_paid",
            ),
            models.CheckConstraint(
                condition=Q(held_card__isnull=True, held_at__isnull=True)
                | Q(held_card__isnull=False, held_at__isnull=False),
                name="a_held_card_is_held_since_a_moment",
            ),
            models.CheckConstraint(condition=Q(tries__gte=0), name="tries_are_counted_from_zero"),
            models.CheckConstraint(
                condition=Q(installments_max__range=(1, INSTALLMENTS_MAX)),
                name="a_session_offers_up_to_twelve_installments",
            ),
        ]

    def __str__(self) -> str:
        return self.id
