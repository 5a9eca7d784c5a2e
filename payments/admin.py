from django.contrib import admin

from core.admin import ReadOnly, ReadOnlyAdmin
from payments.models import Attempt, Customer, LineItem, PaymentIntent


class AttemptInline(ReadOnly, admin.TabularInline):
    model = Attempt
    fields = readonly_fields = (
        "id", "status", "amount", "currency", "acquirer_reference", "created_at", "closed_at",
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
    inlines = (AttemptInline, LineItemInline)


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    list_display = ("id", "merchant", "email", "created_at")
    list_select_related = ("merchant",)
    search_fields = ("=id", "email")
    show_full_result_count = False
