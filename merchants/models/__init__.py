from merchants.models.access import ApiKey, IdempotencyKey
from merchants.models.installment_plans import InstallmentPlan
from merchants.models.merchant import (
    CallbackUrl,
    Merchant,
    NegativeLimit,
    NonSecureLimit,
    Website,
)
from merchants.models.people import Member, User, WrongPasswords
from merchants.models.request_logs import RequestLog

__all__ = [
    "ApiKey",
    "CallbackUrl",
    "IdempotencyKey",
    "InstallmentPlan",
    "Member",
    "Merchant",
    "NegativeLimit",
    "NonSecureLimit",
    "RequestLog",
    "User",
    "Website",
    "WrongPasswords",
]
