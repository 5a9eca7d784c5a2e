import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Statement",
            fields=[
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("currency", models.CharField(max_length=3)),
                ("month", models.DateField()),
                ("begins_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("timezone", models.CharField(max_length=64)),
                ("boundary", models.BigIntegerField()),
                ("opening", models.BigIntegerField()),
                ("net", models.BigIntegerField()),
                ("closing", models.BigIntegerField()),
                ("available", models.BigIntegerField()),
                ("pending", models.BigIntegerField()),
                ("reserved", models.BigIntegerField()),
                ("surcharge", models.BigIntegerField()),
                ("lines", models.JSONField()),
                ("payouts", models.JSONField()),
                ("created_at", models.DateTimeField()),
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
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "currency", "month"),
                        name="one_statement_per_merchant_currency_and_month",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("closing", models.F("opening") + models.F("net"))),
                        name="a_statement_closes_with_its_opening_and_its_net",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("closing", models.F("available") + models.F("pending"))
                        ),
                        name="a_statement_closes_with_what_is_available_and_pending",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("begins_at__lt", models.F("ends_at"))),
                        name="a_statement_ends_after_it_begins",
                    ),
                ],
            },
        ),
    ]
