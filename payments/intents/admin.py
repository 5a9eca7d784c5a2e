from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from acquirers.admin import BankExchangeInline
from acquirers.models import BankExchange
from core.admin import ReadOnly, ReadOnlyAdmin
from payments.intents.models import Attempt, LineItem, PaymentIntent


class AttemptInline(ReadOnly, admin.TabularInline):
    model = Attempt
    fields = readonly_fields = (
        "id", "status", "amount", "currency", "terminal", "acquirer_reference", "created_at",
        "closed_at", "reversed_at",
    )  # fmt: skip


class LineItemInline(ReadOnly, admin.TabularInline):
    model = LineItem
    fields = ("position", "name", "quantity", "unit_amount", "amount")


@admin.register(PaymentIntent)
class PaymentIntentAdmin(ReadOnlyAdmin):
    list_display = ("id", "merchant", "amount", "currency", "status", "created_at")
    list_filter = ("status", "currency", "capture_method")
    list_select_related = ("merchant",)
    search_fields = ("=id",)
    show_full_result_count = False
    readonly_fields = ("bank_exchanges",)
    inlines = (AttemptInline, LineItemInline)

    def bank_exchanges(self, intent: PaymentIntent) -> SafeString:
        """Return what banks were asked about the payment's attempts, a line for each exchange."""
        rows = BankExchange.objects.filter(attempt__intent=intent).order_by("sent_at", "id")
        return format_html_join(mark_safe("<br>"), "{} {}", ((row.attempt_id, row) for row in rows))


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    """Tries to get the money; `reversed_at` is the time at which a late charge was given back."""

    list_display = (
        "id", "merchant", "intent", "amount", "currency", "status", "operation", "created_at",
        "reversed_at",
    )  # fmt: skip
    # Named one by one: `hand_off` and `acs_url` are the payer's.
    fields = (
        "id", "merchant", "intent", "terminal", "status", "amount", "surcharge", "captured_minor",
        "currency", "installments", "capture_method", "card", "acquirer_reference",
        "authorization_code", "network_reference", "bank_code", "bank_text", "bank_numbers",
        "error", "three_d_secure_requested", "authentication_demanded", "authentication",
        "request_id", "created_at", "closed_at", "operation",
        "operation_amount", "operation_request_id", "cancellation_reason", "reversed_at",
        "asked_at", "due_at", "inquiry_count", "no_record_count", "lease_until",
    )  # fmt: skip
    list_filter = ("status", ("reversed_at", admin.EmptyFieldListFilter), "currency")
    list_select_related = ("merchant", "intent")
    inlines = (BankExchangeInline,)
    search_fields = ("=id", "=intent__id", "=acquirer_reference")
    show_full_result_count = False
