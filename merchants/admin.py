from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest

from core.admin import ReadOnly, ReadOnlyAdmin
from merchants import audit_tallies
from merchants.audit_log import ACTIONS
from merchants.models import (
    ApiKey,
    AuditEntry,
    CallbackUrl,
    InstallmentPlan,
    Member,
    Merchant,
    NegativeLimit,
    NonSecureLimit,
    RequestLog,
    RiskRule,
    User,
    Website,
)


class ActionFilter(admin.SimpleListFilter):
    """By action, from the closed list: the table would be read whole to find those that occur."""

    title = "action"
    parameter_name = "action"

    def lookups(self, _request: Any, _model_admin: Any) -> list[tuple[str, str]]:
        return [(action, action) for action in sorted(ACTIONS)]

    def queryset(self, _request: Any, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(action=self.value()) if self.value() else queryset


class MemberInline(ReadOnly, admin.TabularInline):
    model = Member


class WebsiteInline(ReadOnly, admin.TabularInline):
    # Addresses are registered through merchants.sites, which knows the rules.
    model = Website


class NonSecureLimitInline(ReadOnly, admin.TabularInline):
    model = NonSecureLimit


class RiskRuleInline(ReadOnly, admin.TabularInline):
    model = RiskRule


class InstallmentPlanInline(ReadOnly, admin.TabularInline):
    model = InstallmentPlan


class CallbackUrlInline(ReadOnly, admin.TabularInline):
    model = CallbackUrl


@admin.register(Merchant)
class MerchantAdmin(ReadOnlyAdmin):
    # Changing a merchant is a domain function's work: it tells `merchant.updated`.
    list_display = ("name", "id", "country", "status", "charges_enabled", "created_at")
    list_filter = ("status", "country")
    search_fields = ("name", "id", "email")
    inlines = (
        MemberInline, NonSecureLimitInline, InstallmentPlanInline, RiskRuleInline, WebsiteInline,
        CallbackUrlInline,
    )  # fmt: skip


@admin.register(NegativeLimit)
class NegativeLimitAdmin(ReadOnlyAdmin):
    """How far merchants may owe us; `manage.py merchant limits` changes it."""

    list_display = ("merchant", "currency", "amount")
    list_select_related = ("merchant",)
    search_fields = ("=merchant__id", "merchant__name")
    show_full_result_count = False


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "id", "merchant", "last4", "created_at", "last_used_at", "revoked_at")
    search_fields = ("id", "name", "merchant__name")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Changes and their actors; `manage.py verify_audit_log` says whether a row was touched."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Return the rows, and count that they are read."""
        audit_tallies.note_reading(audit_tallies.READ)
        return super().get_queryset(request)

    list_display = (
        "created_at", "action", "subject", "merchant", "actor", "actor_name", "address", "reason",
    )  # fmt: skip
    list_filter = (ActionFilter, "actor", "created_at")
    search_fields = ("=id", "=subject", "=merchant__id", "=actor_id", "=request_id", "=chain")
    list_select_related = ("merchant",)
    ordering = ("-id",)
    show_full_result_count = False
    fields = (
        "id", "created_at", "action", "subject", "merchant", "before", "after", "reason", "actor",
        "actor_id", "actor_name", "address", "request_id", "chain", "sequence",
    )  # fmt: skip


@admin.register(RequestLog)
class RequestLogAdmin(ReadOnlyAdmin):
    """All requests, those without a known key too: they belong to no merchant's own log."""

    list_display = ("id", "method", "path", "status", "error_code", "merchant", "ip", "created_at")
    list_filter = ("kind",)
    search_fields = ("=id", "=object_id", "=merchant__id")
    list_select_related = ("merchant",)
    ordering = ("-id",)
    show_full_result_count = False


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(ReadOnlyAdmin):
    """Groups of operators, which migrations make; the desk says who is in them."""

    ordering = ("name",)
    search_fields = ("name",)
    fields = ("name", "permissions")


@admin.register(User)
class UserAdmin(ReadOnlyAdmin):
    """People, without their passwords; what operators do about them is done at the desk."""

    ordering = ("email",)
    list_display = ("email", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("email",)
    fields = (
        "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser", "groups",
        "user_permissions", "language", "date_joined", "last_login",
    )  # fmt: skip
