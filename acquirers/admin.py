from django.contrib import admin

from acquirers.models import BankExchange, Terminal
from core.admin import ReadOnly, ReadOnlyAdmin


@admin.register(Terminal)
class TerminalAdmin(ReadOnlyAdmin):
    """Terminals without their credentials, which are shown nowhere."""

    list_display = ("name", "kind", "status", "merchant", "created_at")
    list_filter = ("status", "kind")
    list_select_related = ("merchant",)
    fields = ("id", "name", "kind", "status", "merchant", "created_at")


class BankExchangeInline(ReadOnly, admin.TabularInline):
    """The exchanges about an attempt, the oldest first."""

    model = BankExchange
    ordering = ("sent_at", "id")
    fields = (
        "sent_at", "milliseconds", "operation", "operation_id", "answer", "bank_code", "bank_text",
        "numbers", "request_id",
    )  # fmt: skip
