from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="DailyRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "job",
                    models.CharField(
                        choices=[
                            ("settlement", "Settlement"),
                            ("payouts", "Payouts"),
                            ("reconcile", "Reconcile"),
                            ("audit", "Audit"),
                        ],
                        max_length=10,
                    ),
                ),
                ("day", models.DateField()),
                ("number", models.IntegerField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("killed", "Killed"),
                        ],
                        default="running",
                        max_length=7,
                    ),
                ),
                ("begun_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("findings", models.IntegerField(default=0)),
                ("failure", models.CharField(max_length=100, null=True)),
                ("left_out_from", models.DateField(null=True)),
                ("left_out_until", models.DateField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["job", "-day"], name="daily_runs_by_day")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("job", "day", "number"), name="a_days_tries_of_a_job_are_numbered"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("left_out_from", None), ("left_out_until", None)),
                            ("left_out_from__lte", models.F("left_out_until")),
                            _connector="OR",
                        ),
                        name="a_daily_run_left_out_days_in_order",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("status", "running")),
                            models.Q(
                                models.Q(("status", "running"), _negated=True),
                                ("ended_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="a_daily_run_is_running_or_ended",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("failure__isnull", False), ("status", "failed")),
                            models.Q(
                                models.Q(("status", "failed"), _negated=True),
                                ("failure__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="a_failed_daily_run_says_why",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DayDigest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "book",
                    models.CharField(
                        choices=[("ledger", "Ledger"), ("events", "Events")], max_length=6
                    ),
                ),
                ("day", models.DateField()),
                ("sequence", models.IntegerField()),
                ("row_count", models.BigIntegerField()),
                ("rows_hash", models.BinaryField(max_length=32)),
                ("hash", models.BinaryField(max_length=32)),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("book", "day"), name="a_day_of_a_book_has_one_digest"
                    ),
                    models.UniqueConstraint(
                        fields=("book", "sequence"), name="digests_of_a_book_are_numbered"
                    ),
                ],
            },
        ),
    ]
