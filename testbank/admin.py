"""The bank's book for operators: to read, never to write."""

from django.contrib import admin

from core.admin import ReadOnly, ReadOnlyAdmin
from testbank.models import Authentication, Authorization, Capture, Reversal


class CaptureInline(ReadOnly, admin.TabularInline):
    model = Capture


class ReversalInline(ReadOnly, admin.TabularInline):
    model = Reversal


@admin.register(Authorization)
class AuthorizationAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    inlines = [CaptureInline, ReversalInline]
    list_display = [
        "reference", "merchant", "amount", "captured_amount", "currency",
        "behaviour", "state", "response_code", "answered", "created_at",
    ]  # fmt: skip
    list_filter = ["state", "behaviour", "answered", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "merchant", "network_reference"]


@admin.register(Authentication)
class AuthenticationAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    list_display = [
        "reference", "merchant", "amount", "currency", "behaviour",
        "state", "decision", "created_at", "decided_at",
    ]  # fmt: skip
    list_filter = ["state", "decision", "behaviour", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "transaction_id", "merchant"]
