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
                ("currencies", core.fields.JSONField(default=list)),
                ("brands", core.fields.JSONField(default=list)),
                ("shown_values", core.fields.JSONField(default=dict)),
                ("sealed", models.BinaryField(null=True)),
                ("refused_in_a_row", models.PositiveIntegerField(default=0)),
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
                "permissions": [("manage_terminals", "Can set up terminals and routes")],
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
        migrations.CreateModel(
            name="Route",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("currency", core.fields.CodeField(max_length=3, null=True)),
                ("brand", core.fields.CodeField(max_length=20, null=True)),
                ("domestic", models.BooleanField(null=True)),
                ("program", core.fields.CodeField(max_length=20, null=True)),
                ("installments_from", models.PositiveSmallIntegerField(default=1)),
                ("installments_to", models.PositiveSmallIntegerField(null=True)),
                ("priority", models.PositiveSmallIntegerField()),
                (
                    "merchant",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "terminal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="routes",
                        to="acquirers.terminal",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            "merchant",
                            "currency",
                            "brand",
                            "domestic",
                            "program",
                            "installments_from",
                            "installments_to",
                            "priority",
                        ),
                        name="no_two_routes_are_alike",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("installments_from__gte", 1),
                            models.Q(
                                ("installments_to", None),
                                ("installments_to__gte", models.F("installments_from")),
                                _connector="OR",
                            ),
                        ),
                        name="a_routes_installments_are_a_range",
                    ),
                ],
            },
        ),
    ]
