import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [("merchants", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Terminal",
            fields=[
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("name", core.fields.CodeField(max_length=40)),
                ("kind", core.fields.CodeField(max_length=20)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("enabled", "Enabled"),
                            ("draining", "Draining"),
                            ("disabled", "Disabled"),
                        ],
                        default="enabled",
                        max_length=8,
                    ),
                ),
                ("sealed", models.BinaryField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name",), name="a_terminal_has_a_name_of_its_own"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__regex", "^[a-z0-9][a-z0-9_-]{0,39}$")),
                        name="a_terminals_name_is_small_letters_and_digits",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["enabled", "draining", "disabled"])),
                        name="a_terminal_is_enabled_draining_or_disabled",
                    ),
                ],
            },
        ),
    ]
