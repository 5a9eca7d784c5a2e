from django.contrib import admin

from core.admin import ReadOnlyAdmin
from payouts.models import Payout


@admin.register(Payout)
class PayoutAdmin(ReadOnlyAdmin):
    """Payouts, and when the bank is asked about them next."""

    list_display = (
        "id", "merchant", "amount", "currency", "status", "destination", "arrival_at",
        "failure_code", "created_at",
    )  # fmt: skip
    list_filter = ("status", "failure_code", "currency")
    list_select_related = ("merchant",)
    search_fields = ("=id", "=acquirer_reference", "=trace_id")
    show_full_result_count = False
    exclude = ("iban",)
