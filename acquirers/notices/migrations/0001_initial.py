import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("acquirers", "0003_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="Inbox",
            fields=[
                (
                    "terminal",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="acquirers.terminal",
                    ),
                ),
                ("polled_at", models.DateTimeField(null=True)),
                ("held_until", models.DateTimeField(null=True)),
                ("failures", models.IntegerField(default=0)),
            ],
            options={
                "verbose_name_plural": "inboxes",
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("reference", core.fields.CodeField(max_length=40)),
                ("refund_reference", core.fields.CodeField(max_length=40, null=True)),
                ("dispute", core.fields.CodeField(max_length=40, null=True)),
                ("about", core.fields.CodeField(max_length=40)),
                ("amount", models.BigIntegerField(null=True)),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(max_length=40, null=True)),
                ("network_reason_code", models.CharField(max_length=40, null=True)),
                ("due_by", models.DateTimeField(null=True)),
                ("at", models.DateTimeField()),
                ("stored_at", models.DateTimeField()),
                ("applied_at", models.DateTimeField(null=True)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("tries", models.IntegerField(default=0)),
                ("last_error", models.CharField(max_length=100, null=True)),
                (
                    "terminal",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="acquirers.terminal",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("applied_at__isnull", True)),
                        fields=["next_try_at"],
                        name="notices_to_be_tried",
                    ),
                    models.Index(
                        condition=models.Q(("applied_at__isnull", True)),
                        fields=["terminal", "about", "number"],
                        name="notices_that_wait_of_an_object",
                    ),
                    models.Index(fields=["reference"], name="notices_of_an_order"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("terminal", "number"), name="a_terminals_notices_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("applied_at__isnull", True), ("next_try_at__isnull", False)),
                            models.Q(("applied_at__isnull", False), ("next_try_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_notice_is_applied_or_tried_again",
                    ),
                ],
            },
        ),
    ]
