from payments.models.attempts import Attempt
from payments.models.customers import Customer
from payments.models.intents import LineItem, PaymentIntent

__all__ = ["Attempt", "Customer", "LineItem", "PaymentIntent"]
