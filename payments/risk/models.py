"""Entries of the lists, and the merchants that are watched."""

from django.db import models
from django.db.models import Q

from core.fields import CodeField, SealedField
from core.keyring import ring
from core.keyring.purposes import FINGERPRINT
from core.querysets import MerchantManager
from merchants.models import Merchant, User


class ListEntry(models.Model):
    """A card, an e-mail or a BIN that is blocked, or that rules leave alone.

    Cards and e-mails are kept as keyed fingerprints, with a masked text for people. An e-mail is
    sealed, too: its fingerprint is made again when the fingerprints' key changes.
    """

    class List(models.TextChoices):
        BLOCK = "block"
        ALLOW = "allow"

    class Kind(models.TextChoices):
        CARD = "card"
        EMAIL = "email"
        BIN = "bin"

    # Null: for every merchant of the installation.
    merchant = models.ForeignKey(
        Merchant, models.CASCADE, null=True, related_name="+", db_index=False
    )
    list = models.CharField(max_length=5, choices=List)
    kind = models.CharField(max_length=5, choices=Kind)
    value = CodeField(max_length=75)
    sealed = SealedField(null=True)
    shown = models.CharField(max_length=254)
    reason = models.CharField(max_length=500)
    by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    # Of the door that wrote it last, for people change. Null: a release without this column did.
    by_operator = models.BooleanField(null=True)
    created_at = models.DateTimeField()
    # In the movable clock; null: it stays until it is removed.
    expires_at = models.DateTimeField(null=True)

    objects = MerchantManager()

    class Meta:
        verbose_name_plural = "list entries"
        permissions = [("manage_lists", "Can add and remove entries of the risk lists")]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "kind", "value", "list"],
                nulls_distinct=False,
                name="a_list_has_an_entry_once",
            ),
            models.CheckConstraint(
                condition=Q(kind="bin", value__regex="^[0-9]{6}$")
                | (~Q(kind="bin") & Q(value__regex=FINGERPRINT)),
                name="a_list_keeps_fingerprints_and_bins",
            ),
            models.CheckConstraint(
                condition=Q(kind="email", sealed__isnull=False)
                | (~Q(kind="email") & Q(sealed__isnull=True)),
                name="a_list_seals_its_emails_alone",
            ),
            models.CheckConstraint(
                condition=Q(merchant__isnull=False) | ~Q(kind="card"),
                name="a_listed_card_is_a_merchants",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.list} {self.kind} {self.shown}"

    def is_operators(self) -> bool:
        """Return whether the entry is the operator's, and none of the merchant's own.

        One of a release that did not note it: whether its author is an operator today, or gone.
        """
        if self.by_operator is None:
            return self.by is None or self.by.is_staff
        return self.by_operator

    @property
    def seal_context(self) -> str:
        """Return what the sealed e-mail is bound to: this list, and what people see of it."""
        return f"risk.entry|{self.merchant_id or ''}|{self.list}|{self.shown}"

    def sealing(self, email: str) -> bytes:
        """Return an e-mail as this entry keeps it."""
        return ring().seal(email.encode(), context=self.seal_context)


class Watch(models.Model):
    """A merchant at which cards are being tested; the job of `card_testing` alone writes it."""

    merchant = models.OneToOneField(Merchant, models.CASCADE, primary_key=True, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        verbose_name_plural = "watches"

    def __str__(self) -> str:
        return f"{self.merchant_id} until {self.until:%Y-%m-%d %H:%M}"
