from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="TransferNotice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("rail", core.fields.CodeField(max_length=200)),
                ("number", models.BigIntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("reference", core.fields.CodeField(max_length=40)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("failure_code", models.CharField(max_length=40, null=True)),
                ("trace_id", models.CharField(max_length=40, null=True)),
                ("remittance", models.CharField(blank=True, max_length=140)),
                ("at", models.DateTimeField()),
                ("stored_at", models.DateTimeField()),
                ("applied_at", models.DateTimeField(null=True)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("tries", models.IntegerField(default=0)),
                ("last_error", models.CharField(max_length=100, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("applied_at__isnull", True)),
                        fields=["next_try_at"],
                        name="transfer_notices_to_be_tried",
                    ),
                    models.Index(fields=["reference", "number"], name="notices_of_a_transfer"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("rail", "number"), name="a_rails_notices_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("applied_at__isnull", True), ("next_try_at__isnull", False)),
                            models.Q(("applied_at__isnull", False), ("next_try_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="a_transfer_notice_is_applied_or_tried_again",
                    ),
                ],
            },
        ),
    ]
