from django.contrib import admin

from core.admin import ReadOnlyAdmin
from payments.risk.models import ListEntry, Watch


@admin.register(ListEntry)
class ListEntryAdmin(ReadOnlyAdmin):
    """Entries of the lists; `manage.py risk_list` adds and removes them."""

    list_display = (
        "id", "list", "kind", "shown", "merchant", "reason", "by", "created_at", "expires_at",
    )  # fmt: skip
    list_filter = ("list", "kind")
    list_select_related = ("merchant", "by")
    search_fields = ("=merchant__id", "=shown")
    show_full_result_count = False
    exclude = ("value", "sealed")


@admin.register(Watch)
class WatchAdmin(ReadOnlyAdmin):
    """Merchants at which cards are being tested: their payers must authenticate."""

    list_display = ("merchant", "since", "until")
    list_select_related = ("merchant",)
    search_fields = ("=merchant__id",)
