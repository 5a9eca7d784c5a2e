import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("intents", "0001_initial"),
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Case",
            fields=[
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
                            ("unknown_outcome", "The bank does not say"),
                            ("late_success_reversed", "Charged late, and given back"),
                            ("bank_contradicts_book", "The bank contradicts the book"),
                            ("reversal_stuck", "A late charge does not go back"),
                        ],
                        max_length=24,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("resolved", "Resolved")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("operation_id", core.fields.CodeField(max_length=40, null=True)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("finding", models.TextField(null=True)),
                (
                    "decision",
                    models.CharField(
                        choices=[
                            ("charged", "The bank has charged the card"),
                            ("not_charged", "The bank has not charged the card"),
                            ("released", "The bank has released the money, or given it back"),
                            ("not_released", "The bank has not released the money"),
                            ("acknowledged", "Seen; nothing changes"),
                        ],
                        max_length=12,
                        null=True,
                    ),
                ),
                ("reason", models.TextField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("opened_at", models.DateTimeField()),
                ("resolved_at", models.DateTimeField(null=True)),
                ("version", models.IntegerField(default=1)),
                (
                    "attempt",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cases",
                        to="intents.attempt",
                    ),
                ),
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
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
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
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.user",
                    ),
                ),
            ],
            options={
                "permissions": [
                    ("resolve_case", "Can decide cases, take them on and note on them")
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "act",
                    models.CharField(
                        choices=[
                            ("opened", "Opened"),
                            ("assigned", "Assigned"),
                            ("decided", "Decided"),
                            ("settled", "settled by the bank"),
                            ("confirmed", "confirmed by the bank"),
                            ("reopened", "Reopened"),
                        ],
                        max_length=10,
                    ),
                ),
                ("told", models.TextField(null=True)),
                ("request_id", core.fields.CodeField(max_length=40)),
                ("created_at", models.DateTimeField()),
                (
                    "by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.user",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="cases.case",
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
            name="CaseNote",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.user",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notes",
                        to="cases.case",
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
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["kind", "opened_at", "id"],
                name="open_cases_by_age",
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(fields=["opened_at", "id"], name="cases_by_age"),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.UniqueConstraint(
                fields=("merchant", "id"), name="a_case_has_one_merchant"
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status", "open")),
                fields=("attempt", "kind", "merchant"),
                name="one_open_case_per_attempt_and_kind",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("resolved_at__isnull", True), ("status", "open")),
                    models.Q(("resolved_at__isnull", False), ("status", "resolved")),
                    _connector="OR",
                ),
                name="a_case_is_open_or_resolved",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("decided_at__isnull", True),
                        ("decided_by__isnull", True),
                        ("decision__isnull", True),
                        ("reason__isnull", True),
                    ),
                    models.Q(
                        ("decided_at__isnull", False),
                        ("decided_by__isnull", False),
                        ("decision__isnull", False),
                        ("reason__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="a_decision_has_a_person_and_a_reason",
            ),
        ),
    ]
