from typing import Any

from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import QuerySet

from acquirers.notices import applying
from acquirers.notices.models import Inbox, Notice
from core.admin import ReadOnlyAdmin


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """Notices of banks; those that are not applied come first."""

    list_display = (
        "id", "terminal", "number", "kind", "reference", "about", "at", "applied_at", "tries",
        "last_error", "next_try_at",
    )  # fmt: skip
    # The only one that does not read the whole table for its choices.
    list_filter = (("applied_at", admin.EmptyFieldListFilter),)
    list_select_related = ("terminal",)
    search_fields = ("=reference", "=dispute", "=refund_reference")
    show_full_result_count = False
    actions = ("try_again",)

    def has_try_permission(self, request: Any) -> bool:
        """Return whether the operator may do more than look."""
        may: bool = request.user.has_perm("notices.change_notice")
        return may

    @admin.action(description="Try to apply them again now", permissions=["try"])
    def try_again(self, request: Any, queryset: QuerySet[Any]) -> None:
        """Let notices that could not be applied be tried with the next run."""
        LogEntry.objects.log_actions(request.user.pk, queryset, CHANGE, "To be tried again.")
        count = applying.try_now(queryset)
        self.message_user(request, f"{count} notices will be tried again in a moment.")


@admin.register(Inbox)
class InboxAdmin(ReadOnlyAdmin):
    """Terminals and when their bank was last asked for notices."""

    list_display = ("terminal", "polled_at", "failures", "held_until")
    list_select_related = ("terminal",)
