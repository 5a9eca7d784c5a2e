"""Transfers to merchants' accounts and from them, the money they moved, and notices of them."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField
from testbank.models.digits import DIGITS_OF_A_CARD
from testbank.states import IncomingState, TransferNoticeKind, TransferState


class Transfer(models.Model):
    """One transfer out, by the reference that the service chose. Amount in minor units."""

    reference = CodeField(max_length=64, unique=True)
    merchant = models.CharField(max_length=64)
    # The service's name of the account; how the transfer goes on follows from it.
    destination = models.CharField(max_length=64)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=16, choices=TransferState)
    failure_code = models.CharField(max_length=40, blank=True)
    # The number by which banks look for it.
    trace_id = models.CharField(max_length=32)
    created_at = models.DateTimeField()
    # When the bank next does something about it by itself.
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(due_at__isnull=False),
                name="bank_transfers_that_are_due",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1), name="bank_transfers_at_least_one_minor_unit"
            ),
            models.CheckConstraint(
                condition=~Q(reference__regex=DIGITS_OF_A_CARD),
                name="bank_transfers_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return self.reference


class TransferMove(models.Model):
    """Money of a transfer that left, or that came back (below zero), in minor units."""

    transfer = models.ForeignKey(Transfer, models.PROTECT, related_name="moves")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="bank_moves_some_money"),
        ]

    def __str__(self) -> str:
        return f"{self.transfer_id}: {self.amount:+d}"


class IncomingTransfer(models.Model):
    """One transfer in, by the bank's own name of it. Amount in minor units."""

    reference = CodeField(max_length=64, unique=True)
    # The reference of the service that expects it; null for one that somebody sent.
    expected_under = CodeField(max_length=64, null=True, unique=True)
    # The merchant's that it is for; empty if the bank does not know.
    merchant = models.CharField(max_length=64, blank=True)
    # The text that its sender wrote.
    remittance = models.CharField(max_length=140, blank=True)
    # The way in which it goes on; empty for one that comes.
    source = models.CharField(max_length=40, blank=True)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    state = models.CharField(max_length=16, choices=IncomingState)
    failure_code = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField()
    # When the bank next does something about it by itself.
    due_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(due_at__isnull=False),
                name="bank_incoming_that_are_due",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gte=1), name="bank_receives_at_least_one_minor_unit"
            ),
            models.CheckConstraint(
                condition=~Q(reference__regex=DIGITS_OF_A_CARD)
                & ~Q(remittance__regex=DIGITS_OF_A_CARD),
                name="bank_receives_without_a_card_number",
            ),
        ]

    def __str__(self) -> str:
        return self.reference


class IncomingMove(models.Model):
    """Money of a transfer that came, or was taken back (below zero), in minor units."""

    incoming = models.ForeignKey(IncomingTransfer, models.PROTECT, related_name="moves")
    amount = models.BigIntegerField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="bank_moves_some_money_in"),
        ]

    def __str__(self) -> str:
        return f"{self.incoming_id}: {self.amount:+d}"


class TransferNoticeCounter(models.Model):
    """The last number, in one row that is locked until the notice is committed."""

    id = models.SmallIntegerField(primary_key=True)
    last = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="bank_counts_transfers_in_one_row"),
        ]

    def __str__(self) -> str:
        return str(self.last)


class TransferNotice(models.Model):
    """One notice about a transfer, as sent; these notices have numbers of their own."""

    number = models.BigIntegerField(primary_key=True)
    kind = models.CharField(max_length=32, choices=TransferNoticeKind)
    transfer = models.ForeignKey(Transfer, models.PROTECT, null=True, related_name="notices")
    incoming = models.ForeignKey(
        IncomingTransfer, models.PROTECT, null=True, related_name="notices"
    )
    failure_code = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(number__gte=1), name="bank_numbers_transfer_notices_from_one"
            ),
            models.CheckConstraint(
                condition=Q(transfer__isnull=True) ^ Q(incoming__isnull=True),
                name="bank_tells_of_a_transfer_out_or_in",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number} {self.kind}"
