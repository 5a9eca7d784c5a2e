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
            name="Dispute",
            fields=[
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("bank_reference", core.fields.CodeField(max_length=40)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("needs_response", "Needs Response"),
                            ("under_review", "Under Review"),
                            ("won", "Won"),
                            ("lost", "Lost"),
                            ("warning_needs_response", "Warning Needs Response"),
                            ("warning_under_review", "Warning Under Review"),
                            ("warning_closed", "Warning Closed"),
                        ],
                        max_length=22,
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("fraudulent", "Fraudulent"),
                            ("product_not_received", "Product Not Received"),
                            ("product_unacceptable", "Product Unacceptable"),
                            ("duplicate", "Duplicate"),
                            ("credit_not_processed", "Credit Not Processed"),
                            ("subscription_canceled", "Subscription Canceled"),
                            ("unrecognized", "Unrecognized"),
                            ("general", "General"),
                        ],
                        max_length=24,
                    ),
                ),
                ("network_reason_code", models.CharField(max_length=40, null=True)),
                ("evidence", models.JSONField(default=dict)),
                ("evidence_due_by", models.DateTimeField()),
                ("submission_count", models.SmallIntegerField(default=0)),
                ("is_past_due", models.BooleanField(default=False)),
                ("metadata", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "attempt",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="disputes",
                        to="intents.attempt",
                    ),
                ),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="disputes",
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
        ),
        migrations.CreateModel(
            name="DisputeDelivery",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("evidence", "Evidence"),
                            ("acceptance", "Acceptance"),
                            ("end", "End"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("owed", "Owed"),
                            ("acknowledged", "Acknowledged"),
                            ("refused", "Refused"),
                            ("superseded", "Superseded"),
                        ],
                        default="owed",
                        max_length=12,
                    ),
                ),
                ("number", models.SmallIntegerField(null=True)),
                ("evidence", models.JSONField(null=True)),
                ("answer", models.CharField(max_length=24, null=True)),
                ("created_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                (
                    "dispute",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="disputes.dispute",
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
                "verbose_name_plural": "dispute deliveries",
                "abstract": False,
            },
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=["merchant", "created_at", "id"], name="disputes_of_a_merchant"
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(fields=["merchant", "amount", "id"], name="disputes_by_amount"),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=["merchant", "evidence_due_by", "id"], name="disputes_by_due_date"
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=["merchant", "status", "created_at", "id"], name="disputes_by_status"
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=["merchant", "reason", "created_at", "id"], name="disputes_by_reason"
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=["merchant", "intent", "created_at", "id"], name="disputes_of_a_payment"
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                condition=models.Q(
                    (
                        "status__in",
                        ("needs_response", "warning_needs_response", "warning_under_review"),
                    )
                ),
                fields=["evidence_due_by"],
                name="disputes_that_await_an_answer",
            ),
        ),
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(fields=["bank_reference"], name="disputes_by_the_banks_name"),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.UniqueConstraint(
                fields=("merchant", "id"), name="a_dispute_has_one_merchant"
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.UniqueConstraint(
                fields=("attempt", "bank_reference", "merchant"),
                name="one_dispute_per_attempt_and_banks_id",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(("amount__gte", 1)), name="a_dispute_is_about_money"
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("closed_at__isnull", False),
                        ("status__in", ("won", "lost", "warning_closed")),
                    ),
                    models.Q(
                        models.Q(("status__in", ("won", "lost", "warning_closed")), _negated=True),
                        ("closed_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="a_dispute_is_open_or_closed",
            ),
        ),
        migrations.AddConstraint(
            model_name="dispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("status__in", ("under_review", "warning_under_review")), _negated=True
                    ),
                    models.Q(
                        ("submission_count__gte", 1), models.Q(("evidence", {}), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="a_dispute_under_review_has_evidence",
            ),
        ),
        migrations.AddIndex(
            model_name="disputedelivery",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["due_at"],
                name="disputedeliverys_that_are_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="disputedelivery",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind", "evidence")),
                fields=("dispute", "number", "merchant"),
                name="evidence_is_submitted_once_per_number",
            ),
        ),
        migrations.AddConstraint(
            model_name="disputedelivery",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", ("acceptance", "end")), ("status", "owed")),
                fields=("dispute", "merchant"),
                name="one_owed_close_per_dispute",
            ),
        ),
        migrations.AddConstraint(
            model_name="disputedelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("evidence__isnull", False),
                        ("kind", "evidence"),
                        ("number__gte", 1),
                        ("number__isnull", False),
                    ),
                    models.Q(
                        ("evidence__isnull", True),
                        ("kind__in", ("acceptance", "end")),
                        ("number__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="a_delivery_is_evidence_or_a_close",
            ),
        ),
        migrations.AddConstraint(
            model_name="disputedelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("answer__isnull", True), ("closed_at__isnull", True), ("status", "owed")
                    ),
                    models.Q(
                        models.Q(("status", "owed"), _negated=True),
                        ("closed_at__isnull", False),
                        ("due_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="a_delivery_is_owed_or_closed",
            ),
        ),
    ]
