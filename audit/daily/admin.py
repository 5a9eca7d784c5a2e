from django.contrib import admin

from audit.daily.models import DailyRun
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
