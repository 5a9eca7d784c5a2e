import django.db.models.deletion
from django.db import migrations, models

import core.fields


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("customers", "0001_initial"),
        ("intents", "0002_guards"),
        ("merchants", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="CheckoutSession",
            fields=[
                (
                    "id",
                    core.fields.CodeField(
                        editable=False, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("made_payment", models.BooleanField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("complete", "Complete"),
                            ("expired", "Expired"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                (
                    "expiration_reason",
                    models.CharField(
                        choices=[
                            ("time", "Time"),
                            ("api", "Api"),
                            ("too_many_tries", "Too Many Tries"),
                            ("payment_canceled", "Payment Canceled"),
                        ],
                        max_length=16,
                        null=True,
                    ),
                ),
                ("tries", models.SmallIntegerField(default=0)),
                ("success_url", models.CharField(max_length=2000, null=True)),
                ("cancel_url", models.CharField(max_length=2000, null=True)),
                (
                    "locale",
                    models.CharField(
                        choices=[("auto", "Auto"), ("tr", "Turkish"), ("en", "English")],
                        default="auto",
                        max_length=4,
                    ),
                ),
                ("client_reference_id", models.CharField(max_length=200, null=True)),
                ("billing_details", models.JSONField(default=dict)),
                (
                    "three_d_secure",
                    models.CharField(
                        choices=[("automatic", "Automatic"), ("required", "Required")],
                        default="automatic",
                        max_length=9,
                    ),
                ),
                ("installments_max", models.SmallIntegerField(default=12)),
                ("chosen_installments", models.SmallIntegerField(default=1)),
                ("metadata", models.JSONField(default=dict)),
                ("held_card", core.fields.CodeField(max_length=40, null=True)),
                ("held_at", models.DateTimeField(null=True)),
                ("customer_details", models.JSONField(null=True)),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "customer",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="customers.customer",
                    ),
                ),
                (
                    "intent",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="checkout_sessions",
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
            options={
                "indexes": [
                    models.Index(
                        fields=["merchant", "created_at", "id"], name="sessions_of_a_merchant"
                    ),
                    models.Index(
                        fields=["merchant", "status", "created_at", "id"], name="sessions_by_status"
                    ),
                    models.Index(
                        fields=["merchant", "intent", "created_at", "id"],
                        name="sessions_of_a_payment",
                    ),
                    models.Index(
                        condition=models.Q(("customer__isnull", False)),
                        fields=["merchant", "customer", "created_at", "id"],
                        name="sessions_of_a_customer",
                    ),
                    models.Index(
                        condition=models.Q(("status", "open")),
                        fields=["expires_at"],
                        name="open_sessions_by_their_end",
                    ),
                    models.Index(
                        condition=models.Q(("held_card__isnull", False)),
                        fields=["held_at"],
                        name="sessions_with_a_held_card",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("intent",),
                        name="one_open_session_per_payment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status", "open")),
                            models.Q(
                                models.Q(("status", "open"), _negated=True),
                                ("ended_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="a_session_is_open_or_has_ended",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("expiration_reason__isnull", False), ("status", "expired")),
                            models.Q(
                                models.Q(("status", "expired"), _negated=True),
                                ("expiration_reason__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="an_expired_session_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("customer_details__isnull", False), ("status", "complete")),
                            models.Q(
                                models.Q(("status", "complete"), _negated=True),
                                ("customer_details__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_complete_session_says_who_paid",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("held_at__isnull", True), ("held_card__isnull", True)),
                            models.Q(("held_at__isnull", False), ("held_card__isnull", False)),
                            _connector="OR",
                        ),
                        name="a_held_card_is_held_since_a_moment",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("tries__gte", 0)), name="tries_are_counted_from_zero"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("installments_max__range", (1, 12))),
                        name="a_session_offers_up_to_twelve_installments",
                    ),
                ],
            },
        ),
    ]
