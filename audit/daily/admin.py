from django.contrib import admin

from audit.daily.models import DailyRun, DayDigest
from core.admin import ReadOnlyAdmin


@admin.register(DailyRun)
class DailyRunAdmin(ReadOnlyAdmin):
    """The daily runs, the newest first; filter by status for what failed."""

    list_display = (
        "id", "job", "day", "status", "findings", "counts", "failure", "left_out_from",
        "left_out_until", "begun_at", "ended_at",
    )  # fmt: skip
    list_filter = ("status", "job")
    show_full_result_count = False


@admin.register(DayDigest)
class DayDigestAdmin(ReadOnlyAdmin):
    """The digests of days; `manage.py verify_audit_log` compares them with the rows."""

    list_display = ("day", "book", "sequence", "row_count", "made_at")
    list_filter = ("book",)
    ordering = ("-day", "book")
    fields = ("day", "book", "sequence", "row_count", "made_at")
