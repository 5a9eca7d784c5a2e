"""Installments as a resource: quotes, which are not stored."""

from core.rest.resources import Resource
from payments.installments import schema

RESOURCE = Resource(
    path="installments",
    scope="payment_intents",
    tag=("Installments", "What a card may be charged in, and what that costs."),
    schemas=schema.SCHEMAS,
)
