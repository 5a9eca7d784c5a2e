import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("acquirers", "0001_initial"),
        ("merchants", "0003_sign_in_cache"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="KeptLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("type", models.CharField(max_length=20)),
                ("reference", core.fields.CodeField(max_length=64)),
                ("terminal_id", core.fields.CodeField(max_length=40, null=True)),
                ("day", models.DateField()),
                ("merchant_id", core.fields.CodeField(max_length=64, null=True)),
                ("currency", models.CharField(max_length=3)),
                ("amount", models.BigIntegerField()),
                ("value_date", models.DateField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="kept_lines_by_day")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("type", "reference", "terminal_id"),
                        name="a_line_of_a_booking_is_kept_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Difference",
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
                            ("missing_here", "The bank has it, and we do not"),
                            ("missing_there", "We have it, and the bank does not"),
                            ("amount_differs", "The amount differs"),
                            ("currency_differs", "The currency differs"),
                            ("merchant_differs", "The merchant differs"),
                            ("twice", "Twice in the bank's file"),
                        ],
                        max_length=20,
                    ),
                ),
                ("type", models.CharField(max_length=20)),
                ("reference", core.fields.CodeField(max_length=64)),
                ("day", models.DateField()),
                ("bank", models.JSONField(null=True)),
                ("ours", models.JSONField(null=True)),
                ("opened_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                ("reason", models.TextField(null=True)),
                (
                    "closed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                    "terminal",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="acquirers.terminal",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["type", "reference", "kind"], name="differences_by_reference"
                    ),
                    models.Index(fields=["opened_at", "id"], name="differences_by_age"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("type", "reference", "kind", "terminal"),
                        nulls_distinct=False,
                        name="one_open_difference_per_booking_and_kind",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("bank__isnull", False), ("ours__isnull", False), _connector="OR"
                        ),
                        name="a_difference_has_a_side",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("closed_by__isnull", True), ("reason__isnull", True)),
                            models.Q(
                                ("closed_at__isnull", False),
                                ("closed_by__isnull", False),
                                ("reason__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="a_person_closes_with_a_reason",
                    ),
                ],
            },
        ),
    ]
