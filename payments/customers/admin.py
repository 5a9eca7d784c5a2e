from django.contrib import admin

from core.admin import ReadOnlyAdmin
from payments.customers.models import Customer


@admin.register(Customer)
class CustomerAdmin(ReadOnlyAdmin):
    list_display = ("id", "merchant", "email", "created_at", "deleted_at")
    list_select_related = ("merchant",)
    search_fields = ("=id", "email")
    show_full_result_count = False
