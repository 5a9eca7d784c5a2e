import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("intents", "0002_guards"),
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Refund",
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
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("canceled", "Canceled"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                (
                    "method",
                    models.CharField(
                        choices=[("void", "Void"), ("refund", "Refund")], max_length=6
                    ),
                ),
                (
                    "pending_reason",
                    models.CharField(
                        choices=[
                            ("processing", "Processing"),
                            ("insufficient_funds", "Insufficient Funds"),
                            ("bank_day_open", "Bank Day Open"),
                        ],
                        max_length=18,
                        null=True,
                    ),
                ),
                (
                    "failure_reason",
                    models.CharField(
                        choices=[
                            ("declined", "Declined"),
                            ("lost_or_stolen_card", "Lost Or Stolen Card"),
                            ("expired_or_canceled_card", "Expired Or Canceled Card"),
                            ("insufficient_funds", "Insufficient Funds"),
                            ("charge_for_pending_refund_disputed", "Disputed"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=34,
                        null=True,
                    ),
                ),
                ("reason", models.CharField(max_length=21, null=True)),
                ("description", models.CharField(max_length=1000, null=True)),
                ("metadata", models.JSONField(default=dict)),
                ("reference", models.CharField(max_length=80, null=True)),
                ("bank_numbers", core.fields.JSONField(null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "attempt",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="intents.attempt",
                    ),
                ),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refunds",
                        to="intents.paymentintent",
                    ),
                ),
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
                        name="refunds_that_are_due",
                    ),
                    models.Index(
                        fields=["merchant", "created_at", "id"], name="refunds_of_a_merchant"
                    ),
                    models.Index(fields=["merchant", "amount", "id"], name="refunds_by_amount"),
                    models.Index(
                        fields=["merchant", "status", "created_at", "id"], name="refunds_by_status"
                    ),
                    models.Index(
                        fields=["merchant", "method", "created_at", "id"], name="refunds_by_method"
                    ),
                    models.Index(
                        fields=["merchant", "intent", "created_at", "id"],
                        name="refunds_of_a_payment",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("pending_reason", "insufficient_funds"), ("status", "pending")
                        ),
                        fields=["merchant", "currency", "created_at", "id"],
                        name="refunds_that_wait_for_funds",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 1)), name="a_refund_is_at_least_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("closed_at__isnull", True),
                                ("pending_reason__isnull", False),
                                ("status", "pending"),
                            ),
                            models.Q(
                                models.Q(("status", "pending"), _negated=True),
                                ("closed_at__isnull", False),
                                ("pending_reason", None),
                            ),
                            _connector="OR",
                        ),
                        name="a_refund_is_pending_or_closed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("failure_reason__isnull", False), ("status", "failed")),
                            models.Q(
                                models.Q(("status", "failed"), _negated=True),
                                ("failure_reason__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_failed_refund_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("pending_reason", "insufficient_funds"),
                                ("status", "pending"),
                                _negated=True,
                            ),
                            models.Q(("method", "refund"), ("sent_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_refund_that_waits_for_funds_has_not_left",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "canceled"), _negated=True),
                            ("sent_at__isnull", True),
                            _connector="OR",
                        ),
                        name="a_canceled_refund_has_not_left",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "succeeded"), _negated=True),
                            ("sent_at__isnull", False),
                            _connector="OR",
                        ),
                        name="a_succeeded_refund_has_left",
                    ),
                ],
            },
        ),
    ]
