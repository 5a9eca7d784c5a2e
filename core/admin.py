from typing import Any

from django.contrib import admin


class ReadOnly:
    """What operators read and nobody edits by hand: an edited book would prove nothing."""

    def has_add_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False

    def has_change_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, _request: Any, _obj: Any = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, admin.ModelAdmin):  # type: ignore[type-arg]
    """A table to read."""
