from django.contrib import admin

from core.admin import ReadOnlyAdmin
from events.models import Event


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("id", "type", "aggregate_id", "sequence", "merchant", "created_at")
    list_filter = ("type",)
    search_fields = ("=id", "=aggregate_id", "=request_id")
    list_select_related = ("merchant",)
    show_full_result_count = False
    exclude = ("body",)
