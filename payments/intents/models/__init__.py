from payments.customers.models import Customer
from payments.intents.models.attempts import Attempt
from payments.intents.models.counted_days import CountedDay, CountedMerchant, LateChange
from payments.intents.models.intents import LineItem, PaymentIntent
from payments.intents.models.metadata import MetadataEntry
from payments.intents.models.modifications import Modification
from payments.intents.models.non_secure import NonSecureDay

__all__ = [
    "Attempt", "CountedDay", "CountedMerchant", "Customer", "LateChange", "LineItem",
    "MetadataEntry", "Modification", "NonSecureDay", "PaymentIntent",
]  # fmt: skip
