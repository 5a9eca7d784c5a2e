from django.db import models
from django.db.models import Q

from core.querysets import MerchantManager
from merchants.models.merchant import Merchant

DELAY_DAYS_MAX = 30
# As the API's own amounts (contract 1).
AMOUNT_MAX = 999_999_999_999


class PayoutSchedule(models.Model):
    """The days on which a merchant's money becomes available and is paid out (contract-money).

    A merchant without a row has the schedule that its fields' defaults make.
    """

    class Interval(models.TextChoices):
        MANUAL = "manual"
        DAILY = "daily"
        WEEKLY = "weekly"
        MONTHLY = "monthly"

    class Weekday(models.TextChoices):
        MONDAY = "monday"
        TUESDAY = "tuesday"
        WEDNESDAY = "wednesday"
        THURSDAY = "thursday"
        FRIDAY = "friday"
        SATURDAY = "saturday"
        SUNDAY = "sunday"

    class Installments(models.TextChoices):
        WHOLE = "whole"
        MONTHLY = "monthly"

    merchant = models.OneToOneField(
        Merchant, models.CASCADE, primary_key=True, related_name="payout_schedule"
    )
    interval = models.CharField(max_length=7, choices=Interval, default=Interval.MANUAL)
    # Of a weekly interval.
    weekly_anchor = models.CharField(max_length=9, choices=Weekday, null=True, blank=True)
    # Of a monthly interval: a day of the month, the last one of a shorter month.
    monthly_anchor = models.SmallIntegerField(null=True, blank=True)
    # In minor units of each currency: less than that is not paid out.
    minimum_amount = models.BigIntegerField(default=0)
    # Business days from a capture to its money.
    delay_days = models.SmallIntegerField(default=1)
    # Of payments in installments: all of the money at once, or a part each month.
    installments = models.CharField(max_length=7, choices=Installments, default=Installments.WHOLE)

    objects = MerchantManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(interval="weekly", weekly_anchor__isnull=False)
                | (~Q(interval="weekly") & Q(weekly_anchor__isnull=True)),
                name="weekly_payouts_alone_have_a_weekday",
            ),
            models.CheckConstraint(
                condition=Q(interval="monthly", monthly_anchor__range=(1, 31))
                | (~Q(interval="monthly") & Q(monthly_anchor__isnull=True)),
                name="monthly_payouts_alone_have_a_day_of_the_month",
            ),
            models.CheckConstraint(
                condition=Q(minimum_amount__range=(0, AMOUNT_MAX)),
                name="the_least_payout_is_an_amount",
            ),
            models.CheckConstraint(
                condition=Q(delay_days__range=(0, DELAY_DAYS_MAX)),
                name="money_is_due_within_thirty_business_days",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.interval}, {self.delay_days} days"
