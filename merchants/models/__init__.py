from merchants.models.access import ApiKey, IdempotencyKey
from merchants.models.merchant import CallbackUrl, Merchant, Website
from merchants.models.people import Member, User

__all__ = ["ApiKey", "CallbackUrl", "IdempotencyKey", "Member", "Merchant", "User", "Website"]
