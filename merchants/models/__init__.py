from merchants.models.access import ApiKey, IdempotencyKey
from merchants.models.audit import AuditEntry, AuditHead, AuditTally
from merchants.models.installment_plans import InstallmentPlan
from merchants.models.merchant import (
    CallbackUrl,
    Merchant,
    NegativeLimit,
    NonSecureLimit,
    Website,
)
from merchants.models.owed_mails import OwedMail
from merchants.models.payout_accounts import PayoutAccount
from merchants.models.payout_schedules import PayoutSchedule
from merchants.models.people import Invitation, Member, OperatorInvitation, Session, User
from merchants.models.request_logs import RequestLog
from merchants.models.risk import RiskRule, RuleEffect, RuleName

__all__ = [
    "ApiKey",
    "AuditEntry",
    "AuditHead",
    "AuditTally",
    "CallbackUrl",
    "IdempotencyKey",
    "InstallmentPlan",
    "Invitation",
    "Member",
    "Merchant",
    "NegativeLimit",
    "NonSecureLimit",
    "OperatorInvitation",
    "OwedMail",
    "PayoutAccount",
    "PayoutSchedule",
    "RequestLog",
    "RiskRule",
    "RuleEffect",
    "RuleName",
    "Session",
    "User",
    "Website",
]
