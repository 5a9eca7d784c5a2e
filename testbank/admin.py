"""The bank's book for operators: to read, and to decide as the bank's people do."""

from django.contrib import admin

from core.admin import ReadOnly, ReadOnlyAdmin
from testbank.desk import ComplaintForm, Confirmation, DecidedAdmin
from testbank.models import (
    Authentication,
    Authorization,
    Bounce,
    Capture,
    Chargeback,
    Dispute,
    Evidence,
    FraudReport,
    GarantiLine,
    GarantiVisit,
    IncomingTransfer,
    Misbehaviour,
    NestpayLine,
    NestpayVisit,
    Notice,
    Recovery,
    Refund,
    Repayment,
    Reversal,
    Transfer,
)


class CaptureInline(ReadOnly, admin.TabularInline):
    model = Capture


class ReversalInline(ReadOnly, admin.TabularInline):
    model = Reversal


class DisputeInline(ReadOnly, admin.TabularInline):
    model = Dispute


class RefundInline(ReadOnly, admin.TabularInline):
    model = Refund


class RepaymentInline(ReadOnly, admin.TabularInline):
    model = Repayment


class BounceInline(ReadOnly, admin.TabularInline):
    model = Bounce


class EvidenceInline(ReadOnly, admin.TabularInline):
    model = Evidence


class ChargebackInline(ReadOnly, admin.TabularInline):
    model = Chargeback


class RecoveryInline(ReadOnly, admin.TabularInline):
    model = Recovery


@admin.register(Authorization)
class AuthorizationAdmin(DecidedAdmin):
    decisions = {"dispute": ComplaintForm, "inquiry": ComplaintForm, "reverse": Confirmation}
    date_hierarchy = "created_at"
    inlines = [CaptureInline, ReversalInline, RefundInline, DisputeInline]
    list_display = [
        "reference", "merchant", "amount", "captured_amount", "currency",
        "behaviour", "state", "response_code", "answered", "created_at",
    ]  # fmt: skip
    list_filter = ["state", "behaviour", "answered", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "merchant", "network_reference"]


@admin.register(Refund)
class RefundAdmin(DecidedAdmin):
    decisions = {"bounce": Confirmation}
    date_hierarchy = "created_at"
    inlines = [RepaymentInline, BounceInline]
    list_display = [
        "reference", "authorization", "amount", "state", "response_code", "network_reference",
        "created_at",
    ]  # fmt: skip
    list_filter = ["state"]
    list_select_related = ["authorization"]
    ordering = ["-id"]
    search_fields = ["reference", "authorization__reference", "network_reference"]


@admin.register(Dispute)
class DisputeAdmin(DecidedAdmin):
    decisions = dict.fromkeys(("win", "lose", "escalate", "regain", "end"), Confirmation)
    date_hierarchy = "created_at"
    inlines = [EvidenceInline, ChargebackInline, RecoveryInline]
    list_display = [
        "reference", "authorization", "amount", "state", "reason", "verdict", "created_at",
        "evidence_due_by", "due_at",
    ]  # fmt: skip
    list_filter = ["state", "reason"]
    list_select_related = ["authorization"]
    ordering = ["-id"]
    search_fields = ["reference", "authorization__reference"]


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    list_display = [
        "number", "kind", "authorization", "dispute", "refund", "amount", "due_by", "created_at",
    ]  # fmt: skip
    list_filter = ["kind"]
    list_select_related = ["authorization", "dispute", "refund"]
    ordering = ["-number"]
    search_fields = ["authorization__reference", "dispute__reference", "refund__reference"]


@admin.register(Authentication)
class AuthenticationAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    list_display = [
        "reference", "merchant", "amount", "currency", "behaviour",
        "state", "decision", "created_at", "decided_at",
    ]  # fmt: skip
    list_filter = ["state", "decision", "behaviour", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "transaction_id", "merchant"]


@admin.register(FraudReport)
class FraudReportAdmin(ReadOnlyAdmin):
    list_display = ("id", "authorization", "due_at")
    list_select_related = ("authorization",)


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = [
        "reference", "merchant", "destination", "amount", "currency", "state", "failure_code",
        "trace_id", "created_at", "due_at",
    ]  # fmt: skip
    list_filter = ["state", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "merchant", "trace_id"]


@admin.register(IncomingTransfer)
class IncomingTransferAdmin(DecidedAdmin):
    decisions = {"take_back": Confirmation}
    list_display = [
        "reference", "merchant", "remittance", "amount", "currency", "state", "created_at",
        "due_at",
    ]  # fmt: skip
    list_filter = ["state", "currency"]
    ordering = ["-id"]
    search_fields = ["reference", "merchant", "remittance"]


@admin.register(NestpayLine)
class NestpayLineAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    list_display = [
        "trans_id", "client_id", "order_id", "is_refund", "amount", "authorization", "refund",
        "host_ref", "created_at", "told_from",
    ]  # fmt: skip
    list_filter = ["client_id", "is_refund"]
    list_select_related = ["authorization", "refund"]
    ordering = ["-id"]
    search_fields = ["order_id", "trans_id", "host_ref"]


@admin.register(NestpayVisit)
class NestpayVisitAdmin(ReadOnlyAdmin):
    list_display = [
        "id", "client_id", "order_id", "model", "authentication", "line", "refusal", "wrong",
        "used_at",
    ]  # fmt: skip
    list_filter = ["client_id", "model"]
    list_select_related = ["authentication", "line"]
    ordering = ["-id"]
    search_fields = ["order_id"]


@admin.register(GarantiLine)
class GarantiLineAdmin(ReadOnlyAdmin):
    date_hierarchy = "created_at"
    list_display = [
        "host_ref", "client_id", "order_id", "kind", "amount", "authorization", "refund", "code",
        "created_at", "told_from",
    ]  # fmt: skip
    list_filter = ["client_id", "kind"]
    list_select_related = ["authorization", "refund"]
    ordering = ["-id"]
    search_fields = ["order_id", "host_ref"]


@admin.register(GarantiVisit)
class GarantiVisitAdmin(ReadOnlyAdmin):
    list_display = [
        "id", "client_id", "order_id", "model", "authentication", "line", "refusal", "wrong",
        "used_at",
    ]  # fmt: skip
    list_filter = ["client_id", "model"]
    list_select_related = ["authentication", "line"]
    ordering = ["-id"]
    search_fields = ["order_id"]


@admin.register(Misbehaviour)
class MisbehaviourAdmin(ReadOnlyAdmin):
    list_display = ["id", "kind", "on", "times_left", "created_at"]
    ordering = ["-id"]
