from django.contrib import admin

from core.admin import ReadOnlyAdmin
from payments.checkout.models import CheckoutSession


@admin.register(CheckoutSession)
class CheckoutSessionAdmin(ReadOnlyAdmin):
    """Checkout sessions, each with its payment."""

    list_display = (
        "id", "merchant", "intent", "status", "expiration_reason", "tries", "expires_at",
        "created_at",
    )  # fmt: skip
    list_filter = ("status", "expiration_reason")
    list_select_related = ("merchant", "intent")
    search_fields = ("=id", "=intent__id", "=client_reference_id")
    show_full_result_count = False
    exclude = ("billing_details", "customer_details")
