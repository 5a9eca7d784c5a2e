from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from acquirers.models import BankExchange
from core.admin import ReadOnlyAdmin
from payments.refunds.models import Refund


@admin.register(Refund)
class RefundAdmin(ReadOnlyAdmin):
    """Refunds, each with what the bank was asked about it."""

    list_display = (
        "id", "merchant", "intent", "amount", "currency", "status", "method", "pending_reason",
        "created_at",
    )  # fmt: skip
    list_filter = ("status", "method", "pending_reason", "failure_reason", "currency")
    list_select_related = ("merchant", "intent")
    search_fields = ("=id", "=intent__id", "=acquirer_reference", "=reference")
    show_full_result_count = False
    readonly_fields = ("bank_exchanges",)

    def bank_exchanges(self, refund: Refund) -> SafeString:
        """Return what the bank was asked about the refund, a line for each exchange."""
        rows = BankExchange.objects.filter(operation_id=refund.id, attempt=refund.attempt_id)
        ordered = rows.order_by("sent_at", "id")
        return format_html_join("", "<div>{}</div>", ((row,) for row in ordered))
