from django.contrib import admin

from acquirers.models import BankExchange, Route, Terminal
from core.admin import ReadOnlyAdmin


@admin.register(Terminal)
class TerminalAdmin(ReadOnlyAdmin):
    """Terminals without their credentials, which are shown nowhere."""

    list_display = ("name", "kind", "status", "merchant", "created_at")
    list_filter = ("status", "kind")
    list_select_related = ("merchant",)
    fields = (
        "id", "name", "kind", "status", "merchant", "currencies", "brands", "shown_values",
        "created_at",
    )  # fmt: skip


@admin.register(Route)
class RouteAdmin(ReadOnlyAdmin):
    """Rules by which payments go to terminals."""

    list_display = (
        "terminal", "merchant", "currency", "brand", "domestic", "program", "installments_from",
        "installments_to", "priority",
    )  # fmt: skip
    list_filter = ("terminal",)
    list_select_related = ("terminal", "merchant")


@admin.register(BankExchange)
class BankExchangeAdmin(ReadOnlyAdmin):
    """The requests that banks were sent, and how they answered."""

    list_display = (
        "sent_at", "attempt", "operation", "answer", "bank_code", "bank_text", "milliseconds",
        "request_id",
    )  # fmt: skip
    list_filter = ("operation", "answer")
    search_fields = ("=attempt__id", "=operation_id", "=request_id")
    show_full_result_count = False
