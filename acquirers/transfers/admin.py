from django.contrib import admin

from acquirers.transfers.models import TransferNotice
from core.admin import ReadOnlyAdmin


@admin.register(TransferNotice)
class TransferNoticeAdmin(ReadOnlyAdmin):
    """Notices of the bank that pays out."""

    list_display = (
        "id", "number", "kind", "reference", "amount", "currency", "at", "applied_at", "tries",
        "last_error", "next_try_at",
    )  # fmt: skip
    # The only one that does not read the whole table for its choices.
    list_filter = (("applied_at", admin.EmptyFieldListFilter),)
    search_fields = ("=reference", "=trace_id")
    show_full_result_count = False
