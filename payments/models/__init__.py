from payments.models.attempts import Attempt
from payments.models.customers import Customer
from payments.models.intents import LineItem, PaymentIntent
from payments.models.metadata import MetadataEntry

__all__ = ["Attempt", "Customer", "LineItem", "MetadataEntry", "PaymentIntent"]
