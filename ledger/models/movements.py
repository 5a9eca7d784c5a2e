"""Movements and their entries: the journal, which is only ever added to (I6)."""

from django.db import models
from django.db.models import F, Q

from core.fields import CodeField, id_field
from core.querysets import MerchantManager
from ledger.models.accounts import Account

# A movement with a type changes a merchant's balance.
IS_TRANSACTION = Q(type__isnull=False)


class Movement(models.Model):
    """Money that moved for one reason; its entries sum to zero.

    The columns of amounts are in minor units, from the merchant's side: above zero for what the
    merchant gets, below zero for what is taken. They are what a balance transaction shows.
    """

    class Kind(models.TextChoices):
        CHARGE = "charge"
        SETTLEMENT = "settlement"
        REFUND = "refund"
        REFUND_PAID = "refund_paid"
        REFUND_RETURNED = "refund_returned"
        REFUND_BOUNCED = "refund_bounced"
        VOID = "void"
        VOID_UNDONE = "void_undone"
        DISPUTE_OPENED = "dispute_opened"
        DISPUTE_WON = "dispute_won"
        DISPUTE_LOST = "dispute_lost"
        DISPUTE_REGAINED = "dispute_regained"
        PAYOUT = "payout"
        PAYOUT_PAID = "payout_paid"
        PAYOUT_RETURNED = "payout_returned"
        PAYOUT_BOUNCED = "payout_bounced"
        TOPUP = "topup"
        TOPUP_REVERSED = "topup_reversed"
        WRITE_OFF = "write_off"

    class Type(models.TextChoices):
        """The type that its balance transaction shows (contract-money, Balance transaction)."""

        CHARGE = "charge"
        REFUND = "refund"
        REFUND_FAILURE = "refund_failure"
        DISPUTE = "dispute"
        DISPUTE_REVERSAL = "dispute_reversal"
        PAYOUT = "payout"
        PAYOUT_FAILURE = "payout_failure"
        PAYOUT_CANCEL = "payout_cancel"
        TOPUP = "topup"
        TOPUP_REVERSAL = "topup_reversal"
        ADJUSTMENT = "adjustment"

    id = id_field()
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False
    )
    kind = models.CharField(max_length=20, choices=Kind)
    # Null if it does not change the merchant's balance: then it is no balance transaction.
    type = models.CharField(max_length=20, choices=Type, null=True)
    # The id of its cause: the attempt of a charge, a refund, a dispute, a run, a payout, a topup.
    cause_id = CodeField(max_length=40)
    # The id of the object that the merchant knows it by: its cause, but of a charge the payment.
    source_id = CodeField(max_length=40)
    # The movement of the same cause before this one: `refund_paid` follows `refund`.
    follows = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="followed_by",
        db_index=False,
        db_constraint=False,
    )
    # The attempt whose money moves: a charge's own, a refund's, a dispute's.
    charge_id = CodeField(max_length=40, null=True)
    currency = models.CharField(max_length=3)
    # The change of `pending` and `available` together, before fees: without the surcharge's share.
    amount = models.BigIntegerField()
    # The share of the surcharge that the payment brought or that goes back with this movement.
    surcharge = models.BigIntegerField(default=0)
    # The part of `amount` that goes to `fees`; below zero if it comes back from there.
    fee = models.BigIntegerField(default=0)
    net = models.BigIntegerField()
    # Of a charge: its fee goes back with its refunds, by the price of that moment.
    returns_fee = models.BooleanField(default=False)
    # The last date of its pending entries, in the merchant's timezone. Without any, the day on
    # which it was made, if it changes the balance.
    available_on = models.DateField(null=True)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        indexes = [
            models.Index(
                fields=["merchant", "charge_id"],
                name="movements_of_a_charge",
                condition=Q(charge_id__isnull=False),
            ),
            # Of balance transactions: one for each order and each filter, in the order of the
            # list, so that a page reads only its own rows.
            models.Index(
                fields=["merchant", "created_at", "id"],
                name="transactions_of_a_merchant",
                condition=IS_TRANSACTION,
            ),
            models.Index(
                fields=["merchant", "amount", "id"],
                name="transactions_by_amount",
                condition=IS_TRANSACTION,
            ),
            models.Index(
                fields=["merchant", "type", "created_at", "id"],
                name="transactions_by_type",
                condition=IS_TRANSACTION,
            ),
            # With the net: the balance after a movement is summed from the index alone.
            models.Index(
                fields=["merchant", "currency", "created_at", "id"],
                include=["net"],
                name="transactions_by_currency",
                condition=IS_TRANSACTION,
            ),
            models.Index(
                fields=["merchant", "source_id", "created_at", "id"],
                name="transactions_of_a_source",
                condition=IS_TRANSACTION,
            ),
            models.Index(
                fields=["merchant", "available_on", "created_at", "id"],
                name="transactions_by_date",
                condition=IS_TRANSACTION,
            ),
            # Statements sum the accounts behind the balance too.
            models.Index(
                fields=["merchant", "currency", "created_at"],
                name="movements_of_no_balance",
                condition=Q(type__isnull=True),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["cause_id", "kind", "merchant"], name="a_cause_moves_money_once_per_kind"
            ),
            # A payout is either paid or returned, money comes back once, and so on.
            models.UniqueConstraint(
                fields=["follows", "merchant"],
                condition=Q(follows__isnull=False),
                name="a_movement_is_followed_once",
            ),
            # Composite foreign keys (merchant, movement, currency) point at this.
            models.UniqueConstraint(
                fields=["merchant", "id", "currency"],
                name="a_movement_has_one_merchant_and_currency",
            ),
            models.CheckConstraint(
                condition=Q(net=F("amount") - F("fee")), name="net_is_the_amount_less_the_fee"
            ),
            models.CheckConstraint(
                condition=Q(type__isnull=True, net=0)
                | (Q(type__isnull=False, available_on__isnull=False) & ~Q(net=0)),
                name="a_change_of_the_balance_has_a_type_and_a_date",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.cause_id}"

    @property
    def is_released(self) -> bool:
        """Return whether all that was held back is free again: what follows takes it once more."""
        return self.kind == self.Kind.DISPUTE_WON

    @property
    def card_money(self) -> int:
        """Return the change of what the card was debited with, surcharge included."""
        return self.amount + self.surcharge


class LedgerEntry(models.Model):
    """One line of a movement; never changed, never deleted."""

    id = models.BigAutoField(primary_key=True)
    merchant = models.ForeignKey(
        "merchants.Merchant", models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    movement = models.ForeignKey(
        Movement, models.PROTECT, related_name="entries", db_constraint=False
    )
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="entries", db_index=False, db_constraint=False
    )
    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField()
    # Of a pending entry: the merchant's local date from which a run settles it.
    available_on = models.DateField(null=True)

    objects = MerchantManager()

    class Meta:
        db_table = "ledger_entry"
        verbose_name = "entry"
        indexes = [
            # With the amount: what is behind a checkpoint is summed from the index alone.
            models.Index(
                fields=["merchant", "account", "id"],
                include=["amount"],
                name="entries_of_an_account",
            ),
            models.Index(
                fields=["merchant", "account", "available_on"],
                name="pending_entries_by_date",
                condition=Q(available_on__isnull=False),
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="an_entry_moves_something"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} {self.amount:+d}"
