from django.contrib import admin
from django.db.models import QuerySet
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from acquirers.models import BankExchange
from core import money
from core.admin import ReadOnly, ReadOnlyAdmin
from payments.intents.models import Attempt, LineItem, Modification, PaymentIntent


class AttemptInline(ReadOnly, admin.TabularInline):
    model = Attempt
    fields = readonly_fields = (
        "id", "status", "amount", "currency", "terminal", "acquirer_reference", "created_at",
        "closed_at",
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
    # They have the payer's links.
    exclude = ("next_action", "return_url")
    readonly_fields = ("modifications", "bank_exchanges")
    inlines = (AttemptInline, LineItemInline)

    @admin.display(description="captures, voids and reversals")
    def modifications(self, intent: PaymentIntent) -> SafeString:
        """Return all that the bank was asked to do with the payment's attempts, oldest first."""
        rows = Modification.objects.filter(attempt__intent=intent)
        return _listed(rows, intent.currency)

    def bank_exchanges(self, intent: PaymentIntent) -> SafeString:
        """Return what banks were asked about the payment's attempts, a line for each exchange."""
        return _lines(BankExchange.objects.filter(attempt__intent=intent))


def _lines(rows: QuerySet[BankExchange]) -> SafeString:
    ordered = rows.order_by("sent_at", "id")
    return format_html_join("", "<div>{} {}</div>", ((row.attempt_id, row) for row in ordered))


def _listed(rows: QuerySet[Modification], currency: str) -> SafeString:
    ordered = rows.order_by("created_at", "id")
    return format_html_join("", "<div>{}</div>", ((_told(row, currency),) for row in ordered))


def _told(row: Modification, currency: str) -> str:
    amount = f" {money.written(row.amount, currency)}" if row.amount else ""
    ended = f"{row.status} ({row.answer})" if row.answer else row.status
    return f"{row.created_at:%Y-%m-%d %H:%M:%S} {row.id} {row.kind}{amount}: {ended}"


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    """Tries to get the money, each with what the bank was asked to do with it afterwards."""

    list_display = (
        "id", "merchant", "intent", "amount", "currency", "status", "created_at",
    )  # fmt: skip
    # Named one by one: `hand_off` and `acs_url` are the payer's.
    fields = (
        "id", "merchant", "intent", "terminal", "status", "amount", "surcharge",
        "surcharge_rate_bps", "program", "captured_minor", "currency", "installments",
        "capture_method", "card", "acquirer_reference",
        "authorization_code", "network_reference", "bank_code", "bank_text", "bank_numbers",
        "error", "three_d_secure_requested", "authentication_demanded", "authentication",
        "payer_ip_source",
        "request_id", "created_at", "closed_at", "modifications", "bank_exchanges", "asked_at",
        "due_at", "inquiry_count", "no_record_count", "lease_until",
    )  # fmt: skip
    readonly_fields = ("modifications", "bank_exchanges")
    list_filter = ("status", "currency")
    list_select_related = ("merchant", "intent")
    search_fields = ("=id", "=intent__id", "=acquirer_reference")
    show_full_result_count = False

    @admin.display(description="captures, voids and reversals")
    def modifications(self, attempt: Attempt) -> SafeString:
        """Return all that the bank was asked to do with the attempt, oldest first."""
        return _listed(attempt.modifications.all(), attempt.currency)

    def bank_exchanges(self, attempt: Attempt) -> SafeString:
        """Return what the bank was asked about the attempt, a line for each exchange."""
        return _lines(BankExchange.objects.filter(attempt=attempt))


@admin.register(Modification)
class ModificationAdmin(ReadOnlyAdmin):
    """Captures, voids and reversals; a reversal gives a late charge back."""

    list_display = (
        "id", "merchant", "attempt", "kind", "amount", "status", "answer", "created_at",
        "closed_at",
    )  # fmt: skip
    list_filter = ("kind", "status", "answer")
    list_select_related = ("merchant", "attempt")
    search_fields = ("=id", "=attempt__id", "=attempt__intent__id")
    show_full_result_count = False
