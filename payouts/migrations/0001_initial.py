import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0003_sign_in_cache"),
    ]

    operations = [
        migrations.CreateModel(
            name="Payout",
            fields=[
                ("request_id", models.CharField(max_length=40)),
                ("asked_at", models.DateTimeField()),
                ("due_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("inquiry_count", models.SmallIntegerField(default=0)),
                ("no_record_count", models.SmallIntegerField(default=0)),
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("acquirer_reference", core.fields.CodeField(max_length=40, unique=True)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("in_transit", "In Transit"),
                            ("paid", "Paid"),
                            ("failed", "Failed"),
                            ("canceled", "Canceled"),
                        ],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("arrival_at", models.DateTimeField()),
                ("automatic", models.BooleanField(default=False)),
                ("scheduled_on", models.DateField(null=True)),
                ("destination", core.fields.CodeField(max_length=40)),
                ("holder_name", models.CharField(blank=True, max_length=200)),
                ("iban", models.CharField(blank=True, max_length=34)),
                ("description", models.CharField(max_length=1000, null=True)),
                ("statement_descriptor", models.CharField(max_length=22, null=True)),
                (
                    "failure_code",
                    models.CharField(
                        choices=[
                            ("account_closed", "Account Closed"),
                            ("no_account", "No Account"),
                            ("incorrect_account_holder_name", "Incorrect Holder"),
                            ("bank_account_restricted", "Account Restricted"),
                            ("declined", "Declined"),
                            ("could_not_process", "Could Not Process"),
                        ],
                        max_length=29,
                        null=True,
                    ),
                ),
                ("trace_id", models.CharField(max_length=40, null=True)),
                ("metadata", models.JSONField(default=dict)),
                ("sent_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "indexes": [
                    models.Index(
                        condition=models.Q(("due_at__isnull", False)),
                        fields=["due_at"],
                        name="payouts_that_are_due",
                    ),
                    models.Index(
                        fields=["merchant", "created_at", "id"], name="payouts_of_a_merchant"
                    ),
                    models.Index(fields=["merchant", "amount", "id"], name="payouts_by_amount"),
                    models.Index(
                        fields=["merchant", "arrival_at", "id"], name="payouts_by_arrival"
                    ),
                    models.Index(
                        fields=["merchant", "status", "created_at", "id"], name="payouts_by_status"
                    ),
                    models.Index(
                        fields=["merchant", "currency", "created_at", "id"],
                        name="payouts_by_currency",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("scheduled_on__isnull", False)),
                        fields=("merchant", "currency", "scheduled_on"),
                        name="one_payout_per_scheduled_day_and_currency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 1)), name="a_payout_is_at_least_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("automatic", True), ("scheduled_on__isnull", False)),
                            models.Q(("automatic", False), ("scheduled_on__isnull", True)),
                            _connector="OR",
                        ),
                        name="an_automatic_payout_has_its_day",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("closed_at__isnull", True),
                                ("status__in", ["pending", "in_transit"]),
                            ),
                            models.Q(
                                ("closed_at__isnull", False),
                                ("due_at__isnull", True),
                                ("status__in", ["paid", "failed", "canceled"]),
                            ),
                            _connector="OR",
                        ),
                        name="a_payout_is_on_its_way_or_closed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("failure_code__isnull", False), ("status", "failed")),
                            models.Q(
                                models.Q(("status", "failed"), _negated=True),
                                ("failure_code__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_failed_payout_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["pending", "canceled"]), _negated=True),
                            ("sent_at__isnull", True),
                            _connector="OR",
                        ),
                        name="a_pending_or_canceled_payout_has_not_left",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "paid"), _negated=True),
                            ("sent_at__isnull", False),
                            _connector="OR",
                        ),
                        name="a_paid_payout_has_left",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScheduleLook",
            fields=[
                (
                    "merchant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="payout_look",
                        serialize=False,
                        to="merchants.merchant",
                    ),
                ),
                ("day", models.DateField()),
            ],
        ),
    ]
