"""Customers: who the merchant's payments are from."""

from typing import Any

from django.db import transaction

from core import clock, ids
from core.metadata import merge
from events import outbox
from merchants import idempotency
from merchants.models import Merchant
from payments import render
from payments.models import Customer


@transaction.atomic(durable=True)
def create(merchant: Merchant, draft: dict[str, Any]) -> Customer:
    """Write a customer down, with its event.

    :param draft: what `CreateCustomerForm` validated.
    """
    customer_id = ids.new("cus")
    idempotency.take(customer_id)
    facts = {**draft, "metadata": merge({}, draft.get("metadata"))}
    customer = Customer.objects.create(
        id=customer_id, merchant=merchant, created_at=clock.now(), **facts
    )
    outbox.record(merchant, "customer.created", render.customer(customer))
    return customer
