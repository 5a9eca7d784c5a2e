from django.contrib import admin

from core.admin import ReadOnly, ReadOnlyAdmin
from ledger.models import Account, Entry, Movement


class EntryInline(ReadOnly, admin.TabularInline):
    model = Entry
    exclude = ("merchant",)


@admin.register(Movement)
class MovementAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "cause_id", "merchant", "created_at")
    list_select_related = ("merchant",)
    search_fields = ("=cause_id",)
    inlines = (EntryInline,)


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = ("id", "merchant", "currency", "kind")
    list_select_related = ("merchant",)
