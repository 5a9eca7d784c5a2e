from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as StockGroupAdmin
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.contrib.auth.models import Group

from core.admin import PlainLookups, ReadOnly, ReadOnlyAdmin
from merchants.models import (
    ApiKey,
    CallbackUrl,
    InstallmentPlan,
    Member,
    Merchant,
    NonSecureLimit,
    RequestLog,
    User,
    Website,
)


class MemberInline(ReadOnly, admin.TabularInline):
    model = Member


class WebsiteInline(ReadOnly, admin.TabularInline):
    # Addresses are registered through merchants.sites, which knows the rules.
    model = Website


class NonSecureLimitInline(ReadOnly, admin.TabularInline):
    model = NonSecureLimit


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
        MemberInline, NonSecureLimitInline, InstallmentPlanInline, WebsiteInline,
        CallbackUrlInline,
    )  # fmt: skip


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "id", "merchant", "last4", "created_at", "last_used_at", "revoked_at")
    search_fields = ("id", "name", "merchant__name")


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
class GroupAdmin(PlainLookups, StockGroupAdmin):
    pass


@admin.register(User)
class UserAdmin(PlainLookups, StockUserAdmin):
    ordering = ("email",)
    list_display = ("email", "first_name", "last_name", "is_staff")
    search_fields = ("email", "first_name", "last_name")
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("first_name", "last_name")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "password1", "password2")}),)
