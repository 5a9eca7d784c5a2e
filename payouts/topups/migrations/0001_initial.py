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
            name="Topup",
            fields=[
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("reference", core.fields.CodeField(max_length=40, unique=True)),
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
                            ("reversed", "Reversed"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                (
                    "initiated_by",
                    models.CharField(
                        choices=[("merchant", "Merchant"), ("operator", "Operator")],
                        default="merchant",
                        max_length=8,
                    ),
                ),
                ("source", core.fields.CodeField(blank=True, max_length=40)),
                ("expected_at", models.DateTimeField()),
                ("description", models.CharField(max_length=1000, null=True)),
                (
                    "failure_code",
                    models.CharField(
                        choices=[("could_not_process", "Could Not Process")],
                        max_length=29,
                        null=True,
                    ),
                ),
                ("metadata", models.JSONField(default=dict)),
                ("request_id", models.CharField(max_length=40)),
                ("tell_at", models.DateTimeField(null=True)),
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("tell_at__isnull", False)),
                        fields=["tell_at"],
                        name="topups_to_tell_the_bank_of",
                    ),
                    models.Index(
                        fields=["merchant", "created_at", "id"], name="topups_of_a_merchant"
                    ),
                    models.Index(fields=["merchant", "amount", "id"], name="topups_by_amount"),
                    models.Index(
                        fields=["merchant", "status", "created_at", "id"], name="topups_by_status"
                    ),
                    models.Index(
                        fields=["merchant", "currency", "created_at", "id"],
                        name="topups_by_currency",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "id"), name="a_topup_has_one_merchant"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 1)), name="a_topup_is_at_least_one"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("closed_at__isnull", True), ("status", "pending")),
                            models.Q(
                                models.Q(("status", "pending"), _negated=True),
                                ("closed_at__isnull", False),
                                ("tell_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_topup_is_awaited_or_closed",
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
                        name="a_failed_topup_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="IncomingTransfer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rail", core.fields.CodeField(max_length=200)),
                ("reference", core.fields.CodeField(max_length=40)),
                ("remittance", models.CharField(blank=True, max_length=140)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("matched", "Matched"),
                            ("unmatched", "Unmatched"),
                            ("assigned", "Assigned"),
                            ("sent_back", "Sent Back"),
                            ("reversed", "Reversed"),
                        ],
                        max_length=9,
                    ),
                ),
                ("reason", models.TextField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("arrived_at", models.DateTimeField()),
                ("created_at", models.DateTimeField()),
                (
                    "decided_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.user",
                    ),
                ),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "topup",
                    models.OneToOneField(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="arrival",
                        to="topups.topup",
                    ),
                ),
            ],
            options={
                "permissions": [
                    ("decide_transfer", "Can assign transfers, and note that they went back")
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "unmatched")),
                        fields=["created_at", "id"],
                        name="transfers_that_match_nothing",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("rail", "reference"), name="a_transfer_comes_in_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("amount__gte", 1)),
                        name="an_incoming_transfer_is_at_least_one",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("merchant__isnull", True), ("topup__isnull", True)),
                            models.Q(("merchant__isnull", False), ("topup__isnull", False)),
                            _connector="OR",
                        ),
                        name="a_transfers_topup_is_a_merchants",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("status__in", ["matched", "assigned"]), ("topup__isnull", False)
                            ),
                            models.Q(
                                ("status__in", ["unmatched", "sent_back"]),
                                ("topup__isnull", True),
                            ),
                            ("status", "reversed"),
                            _connector="OR",
                        ),
                        name="a_transfer_is_of_a_topup_or_of_none",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("decided_at__isnull", True),
                                ("decided_by__isnull", True),
                                ("reason__isnull", True),
                            ),
                            models.Q(
                                ("decided_at__isnull", False),
                                ("decided_by__isnull", False),
                                ("reason__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="a_transfers_decision_has_a_person_and_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status__in", ["assigned", "sent_back"]), _negated=True),
                            ("decided_by__isnull", False),
                            _connector="OR",
                        ),
                        name="a_person_assigns_transfers_and_sends_them_back",
                    ),
                ],
            },
        ),
    ]
