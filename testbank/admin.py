"""The bank's book for operators: to read, never to write."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from testbank.models import Authorization, Capture


class ReadOnly:
    """A book that could be edited would prove nothing against the service's ledger."""

    def has_add_permission(self, _request: HttpRequest, _obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: Model | None = None) -> bool:
        return False


class CaptureInline(ReadOnly, admin.TabularInline):
    model = Capture


@admin.register(Authorization)
class AuthorizationAdmin(ReadOnly, admin.ModelAdmin):
    date_hierarchy = "created_at"
    inlines = [CaptureInline]
    list_display = [
        "reference", "merchant", "amount", "captured_amount", "currency",
        "behaviour", "state", "response_code", "answered", "created_at",
    ]  # fmt: skip
    list_filter = ["state", "behaviour", "answered", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "merchant", "network_reference"]
