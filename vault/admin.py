from django.contrib import admin

from core.admin import ReadOnlyAdmin
from vault.models import SealedCard


@admin.register(SealedCard)
class SealedCardAdmin(ReadOnlyAdmin):
    """Look, don't touch: and of the number only what may be seen."""

    list_display = ("token", "merchant", "bin", "last4", "created_at", "destroyed_at")
    list_select_related = ("merchant",)
    search_fields = ("token", "fingerprint")
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = (
        "token", "merchant", "fingerprint", "bin", "last4", "exp_month", "exp_year",
        "key_id", "created_at", "destroyed_at",
    )  # fmt: skip
