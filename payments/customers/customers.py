"""Customers: the people that pay a merchant, written, changed and deleted (contract 2 and 8)."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from api import idempotency
from core import clock, ids
from core.errors import ParameterMissing
from core.metadata import merge
from events import outbox
from merchants import audit_log
from merchants.models import Merchant
from payments.customers import render
from payments.customers.models import Customer

CREATED = "customer.created"
UPDATED = "customer.updated"
DELETED = "customer.deleted"

PLAIN = ("email", "name", "phone", "description", "default_currency")


@transaction.atomic(durable=True)
def create(merchant: Merchant, draft: dict[str, Any]) -> Customer:
    """Write a customer down, with its event.

    :param draft: a body that `CreateCustomerForm` has validated.
    :raises ParameterMissing: shipping without a name or an address.
    """
    customer = Customer(id=ids.new("cus"), merchant=merchant, created_at=clock.now())
    idempotency.take(customer.id)
    _change(customer, draft)
    customer.save(force_insert=True)
    outbox.record(merchant, CREATED, render.customer(customer))
    _note("customer.created", customer, draft)
    return customer


@transaction.atomic(durable=True)
def update(merchant: Merchant, customer_id: str, changes: dict[str, Any]) -> Customer:
    """Change the given fields and leave the rest; null clears. No event if nothing changes.

    :param changes: a body that `UpdateCustomerForm` has validated.
    :raises ResourceMissing: the merchant has no such customer, or deleted it.
    :raises ParameterMissing: shipping without a name or an address.
    """
    idempotency.take(customer_id)
    customer = _locked(merchant, customer_id, Customer.objects.existing())
    before = render.customer(customer)
    _change(customer, changes)
    after = render.customer(customer)
    if after != before:
        customer.save(force_update=True)
        outbox.record(merchant, UPDATED, after, before)
        _note("customer.updated", customer, [name for name in after if after[name] != before[name]])
    return customer


@transaction.atomic(durable=True)
def delete(merchant: Merchant, customer_id: str) -> Customer:
    """Empty a customer's row and mark it deleted; payments and cursors still name it.

    Only the event keeps the personal data. To delete a deleted customer does nothing.

    :raises ResourceMissing: the merchant never had such a customer.
    """
    idempotency.take(customer_id)
    customer = _locked(merchant, customer_id, Customer.objects.all())
    if customer.deleted_at is not None:
        return customer
    last = render.customer(customer)
    emptied = Customer(
        id=customer.id,
        merchant=merchant,
        created_at=customer.created_at,
        deleted_at=clock.now(),
    )
    emptied.save(force_update=True)
    outbox.record(merchant, DELETED, {**last, "deleted": True}, last)
    _note("customer.deleted", emptied, [])
    return emptied


def _note(action: str, customer: Customer, fields: Iterable[str]) -> None:
    # The fields' names alone: the log forgets nothing, and a customer can be forgotten.
    after = {"fields": sorted(fields)} if fields else None
    merchant = customer.merchant
    audit_log.record_by_person(action, merchant=merchant, subject=customer.id, after=after)


def _locked(merchant: Merchant, customer_id: str, rows: Any) -> Customer:
    # `no_key`: a payment that begins to refer to the customer need not wait.
    own = rows.for_merchant(merchant)
    return own.select_for_update(of=("self",), no_key=True).find(customer_id)


def _change(customer: Customer, changes: dict[str, Any]) -> None:
    for name in PLAIN:
        setattr(customer, name, changes.get(name, getattr(customer, name)))
    if "preferred_locales" in changes:
        customer.preferred_locales = changes["preferred_locales"] or []
    if "address" in changes:
        customer.address = _laid_over(customer.address, changes["address"])
    if "shipping" in changes:
        customer.shipping = _laid_over(customer.shipping, changes["shipping"])
        _require_whole(customer.shipping)
    if "metadata" in changes:
        customer.metadata = merge(customer.metadata, changes["metadata"])


def _laid_over(
    stored: dict[str, Any] | None, given: dict[str, Any] | None
) -> dict[str, Any] | None:
    """Return a stored object with the given fields laid over it; None once it is empty.

    A Stripe SDK sends only the fields that were set, and an empty one for each to be cleared.
    """
    if given is None:
        return None
    merged = dict(stored or {})
    for name, value in given.items():
        merged[name] = _laid_over(merged.get(name), value) if isinstance(value, dict) else value
    return merged if any(merged.values()) else None


def _require_whole(shipping: dict[str, Any] | None) -> None:
    # A parcel needs a name and an address.
    for name in ("name", "address"):
        if shipping and not shipping.get(name):
            raise ParameterMissing(param=f"shipping[{name}]")
