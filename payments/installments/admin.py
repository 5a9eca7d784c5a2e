from django.contrib import admin

from core.admin import ReadOnlyAdmin
from payments.installments.models import Bin, BinImport


@admin.register(BinImport)
class BinImportAdmin(ReadOnlyAdmin):
    list_display = ("id", "is_active", "row_count", "replaced", "created_at")
    list_select_related = ("replaced",)


@admin.register(Bin)
class BinAdmin(ReadOnlyAdmin):
    list_display = (
        "prefix", "version", "brand", "card_type", "country", "issuer", "program", "commercial",
        "three_d_secure_required",
    )  # fmt: skip
    list_select_related = ("version",)
    list_filter = ("version__is_active",)
    search_fields = ("prefix__startswith",)
    show_full_result_count = False
