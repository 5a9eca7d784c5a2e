from django.contrib import admin

from core.admin import ReadOnlyAdmin
from webhooks.models import Delivery, Endpoint, Lane

# Signing secrets are on no page: only the merchant needs one, and sees it once.


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "merchant", "url", "status", "failures_in_a_row", "created_at", "deleted_at",
    )  # fmt: skip
    list_filter = ("status",)
    list_select_related = ("merchant",)
    search_fields = ("=id", "=merchant__id", "url")
    show_full_result_count = False


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "merchant", "endpoint", "event_type", "aggregate_id", "sequence", "attempt",
        "status", "is_missed", "response_status", "error", "scheduled_at",
    )  # fmt: skip
    list_select_related = ("merchant", "endpoint")
    search_fields = ("=id", "=event__id", "=endpoint__id")
    # By age on its index; no filters, which would read the whole table.
    ordering = ("-id",)
    show_full_result_count = False


@admin.register(Lane)
class LaneAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "key", "open_count", "is_resend", "due_at", "leased_until")
    list_select_related = ("endpoint",)
    search_fields = ("=endpoint__id", "=key")
    show_full_result_count = False
