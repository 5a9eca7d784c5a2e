from collections.abc import Mapping

from django.db import models

from core.fields import AddressField, JSONField, NameField, id_field
from core.querysets import MerchantManager
from merchants.states import MerchantStatus


class Merchant(models.Model):
    """A business that takes payments through this installation (contract 2, Merchant)."""

    Status = MerchantStatus

    id = id_field()
    name = NameField(max_length=200)
    legal_name = NameField(max_length=200, blank=True)
    email = AddressField()
    country = models.CharField(max_length=2)
    default_currency = models.CharField(max_length=3)
    timezone = models.CharField(max_length=64)
    mcc = models.CharField(max_length=4, blank=True)
    status = models.CharField(max_length=12, choices=MerchantStatus, default=MerchantStatus.ACTIVE)
    charges_enabled = models.BooleanField(default=True)
    payouts_enabled = models.BooleanField(default=True)
    # May take payments without 3-D Secure, within `NonSecureLimit`.
    non_secure_allowed = models.BooleanField(default=False)
    # Of everybody in the team, whatever `SECOND_FACTOR` says: an owner's choice.
    second_factor_required = models.BooleanField(default=False)
    # Addresses of notices; the account's own address if there is none. Kinds of `merchants.notices`
    # that these addresses do not get, and their language: one of `settings.LANGUAGES`, or empty.
    notice_emails = JSONField(default=list, blank=True)
    silenced_notices = JSONField(default=list, blank=True)
    notice_language = models.CharField(max_length=7, blank=True)
    api_version = models.CharField(max_length=10)
    metadata = JSONField(default=dict)
    created_at = models.DateTimeField()

    # The rows that were found together with the caller's key, as JSON, by the names in
    # `config.caller`; None for a merchant who did not come with a key, and for a read.
    caller: Mapping[str, str | None] | None = None

    # DRF takes the merchant as the request's principal.
    is_authenticated = True

    class Meta:
        permissions = [("change_merchant_terms", "Can open accounts, and change their terms")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(country__regex="^[A-Z]{2}$"),
                name="merchant_country_is_two_capital_letters",
            ),
            models.CheckConstraint(
                condition=models.Q(default_currency__regex="^[a-z]{3}$"),
                name="merchant_currency_is_three_small_letters",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class NonSecureLimit(models.Model):
    """How much a merchant may take without 3-D Secure, per currency, in minor units.

    A currency without a row allows none; a null limits nothing (contract 10).
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="non_secure_limits")
    currency = models.CharField(max_length=3)
    per_payment = models.BigIntegerField(null=True)
    per_day = models.BigIntegerField(null=True)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency"], name="one_non_secure_limit_per_currency"
            ),
            models.CheckConstraint(
                condition=models.Q(per_payment__gte=0) | models.Q(per_payment__isnull=True),
                name="a_limit_per_payment_is_not_negative",
            ),
            models.CheckConstraint(
                condition=models.Q(per_day__gte=0) | models.Q(per_day__isnull=True),
                name="a_limit_per_day_is_not_negative",
            ),
        ]


class NegativeLimit(models.Model):
    """How far below zero a merchant's available balance may go, per currency, in minor units.

    A currency without a row: not at all (contract-money, Balance).
    """

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="negative_limits")
    currency = models.CharField(max_length=3)
    amount = models.BigIntegerField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "currency"], name="one_negative_limit_per_currency"
            ),
            models.CheckConstraint(
                condition=models.Q(amount__gte=0), name="a_negative_limit_is_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


class Website(models.Model):
    """A host of the merchant's: addresses on it and below it are trusted."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="websites")
    host = models.CharField(max_length=253)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "host"], name="a_website_is_registered_once_per_merchant"
            ),
        ]

    def __str__(self) -> str:
        return f"https://{self.host}"


class CallbackUrl(models.Model):
    """An address whose scheme, host and port, and path prefix, are trusted."""

    merchant = models.ForeignKey(Merchant, models.CASCADE, related_name="callback_urls")
    url = models.CharField(max_length=2000)
    created_at = models.DateTimeField()

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "url"], name="a_callback_is_registered_once_per_merchant"
            ),
        ]

    def __str__(self) -> str:
        return self.url
