"""Topups and the transfers that came in, with the constraints and indexes that guard them."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField, JSONField, id_field
from core.querysets import MerchantManager
from payouts.topups.states import Arrival, FailureCode, Initiator, TopupStatus

OPEN, ENDED = [TopupStatus.PENDING], [TopupStatus.FAILED, TopupStatus.CANCELED]


class Topup(models.Model):
    """Money that a merchant sends by a bank transfer, to be available (contract-money, Topup)."""

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    # The text to write into the transfer, by which it is found.
    reference = CodeField(max_length=40, unique=True)
    # In minor units.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=9, choices=TopupStatus, default=TopupStatus.PENDING)
    initiated_by = models.CharField(max_length=8, choices=Initiator, default=Initiator.MERCHANT)
    # The sandbox's word for how its transfer goes on; empty for one that comes.
    source = CodeField(max_length=40, blank=True)
    # The beginning of a day in the merchant's timezone.
    expected_at = models.DateTimeField()
    description = models.CharField(max_length=1000, null=True)
    failure_code = models.CharField(max_length=29, choices=FailureCode, null=True)
    metadata = JSONField(default=dict)
    # The request that began it; events that end it name this request as their cause.
    request_id = models.CharField(max_length=40)
    # When the bank is told next that the transfer is to come; null once it knows, or need not.
    tell_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(
                fields=["tell_at"],
                condition=Q(tell_at__isnull=False),
                name="topups_to_tell_the_bank_of",
            ),
            # One for each order and each filter, in the order of the list.
            models.Index(fields=["merchant", "created_at", "id"], name="topups_of_a_merchant"),
            models.Index(fields=["merchant", "amount", "id"], name="topups_by_amount"),
            models.Index(
                fields=["merchant", "status", "created_at", "id"], name="topups_by_status"
            ),
            models.Index(
                fields=["merchant", "currency", "created_at", "id"], name="topups_by_currency"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["merchant", "id"], name="a_topup_has_one_merchant"),
            models.CheckConstraint(condition=Q(amount__gte=1), name="a_topup_is_at_least_one"),
            models.CheckConstraint(
                condition=Q(status=TopupStatus.PENDING, closed_at__isnull=True)
                | (
                    ~Q(status=TopupStatus.PENDING)
                    & Q(closed_at__isnull=False, tell_at__isnull=True)
                ),
                name="a_topup_is_awaited_or_closed",
            ),
            models.CheckConstraint(
                condition=Q(status=TopupStatus.FAILED, failure_code__isnull=False)
                | (~Q(status=TopupStatus.FAILED) & Q(failure_code__isnull=True)),
                name="a_failed_topup_says_why",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class IncomingTransfer(models.Model):
    """A transfer that came to the bank: of a topup, or a case that an operator decides.

    The case of one that nothing waits for is the row itself: with its status, and the person's
    name and reason.
    """

    # The adapter's dotted path: another bank has references of its own.
    rail = CodeField(max_length=200)
    # The bank's own name of it.
    reference = CodeField(max_length=40)
    # The text that its sender wrote, without what a card number would be.
    remittance = models.CharField(max_length=140, blank=True)
    # In minor units.
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    status = models.CharField(max_length=9, choices=Arrival)
    # The ones of the topup that it went to.
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, null=True, related_name="+", db_index=False
    )
    topup = models.OneToOneField(
        Topup, models.PROTECT, null=True, related_name="arrival", db_constraint=False
    )
    reason = models.TextField(null=True)
    decided_by = models.ForeignKey(
        "merchants.User", models.PROTECT, null=True, related_name="+", db_index=False
    )
    decided_at = models.DateTimeField(null=True)
    arrived_at = models.DateTimeField()  # By the bank's clock.
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        permissions = [("decide_transfer", "Can assign transfers, and note that they went back")]
        indexes = [
            models.Index(
                fields=["created_at", "id"],
                condition=Q(status=Arrival.UNMATCHED),
                name="transfers_that_match_nothing",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["rail", "reference"], name="a_transfer_comes_in_once"),
            models.CheckConstraint(
                condition=Q(amount__gte=1), name="an_incoming_transfer_is_at_least_one"
            ),
            models.CheckConstraint(
                condition=Q(merchant__isnull=True, topup__isnull=True)
                | Q(merchant__isnull=False, topup__isnull=False),
                name="a_transfers_topup_is_a_merchants",
            ),
            models.CheckConstraint(
                condition=Q(status__in=[Arrival.MATCHED, Arrival.ASSIGNED], topup__isnull=False)
                | Q(status__in=[Arrival.UNMATCHED, Arrival.SENT_BACK], topup__isnull=True)
                | Q(status=Arrival.REVERSED),
                name="a_transfer_is_of_a_topup_or_of_none",
            ),
            models.CheckConstraint(
                condition=Q(reason__isnull=True, decided_by__isnull=True, decided_at__isnull=True)
                | Q(reason__isnull=False, decided_by__isnull=False, decided_at__isnull=False),
                name="a_transfers_decision_has_a_person_and_a_reason",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=[Arrival.ASSIGNED, Arrival.SENT_BACK])
                | Q(decided_by__isnull=False),
                name="a_person_assigns_transfers_and_sends_them_back",
            ),
        ]

    def __str__(self) -> str:
        return f"transfer {self.reference}"
