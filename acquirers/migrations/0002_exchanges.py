"""Exchanges come after the attempts that they are about, and these after their terminals."""

import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    dependencies = [
        ("acquirers", "0001_initial"),
        ("intents", "0001_initial"),
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="BankExchange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "operation",
                    models.CharField(
                        choices=[
                            ("authorization_inquiry", "Authorization Inquiry"),
                            ("capture", "Capture"),
                            ("void", "Void"),
                            ("reversal", "Reversal"),
                            ("modification_inquiry", "Modification Inquiry"),
                            ("refund", "Refund"),
                            ("refund_inquiry", "Refund Inquiry"),
                            ("evidence", "Evidence"),
                            ("acceptance", "Acceptance"),
                            ("audit_inquiry", "Audit Inquiry"),
                        ],
                        max_length=24,
                    ),
                ),
                ("operation_id", core.fields.CodeField(max_length=40, null=True)),
                ("request_id", core.fields.CodeField(max_length=40)),
                ("sent_at", models.DateTimeField()),
                ("milliseconds", models.IntegerField()),
                ("answer", models.CharField(max_length=24)),
                ("bank_code", models.CharField(max_length=40, null=True)),
                ("bank_text", models.CharField(max_length=200, null=True)),
                ("numbers", models.JSONField(default=dict)),
                (
                    "attempt",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exchanges",
                        to="intents.attempt",
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
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("milliseconds__gte", 0)),
                        name="an_exchange_takes_no_negative_time",
                    )
                ],
            },
        ),
    ]
