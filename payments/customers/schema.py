"""The description of customers in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, Schemas, identifier, nullable, ref, text
from payments.customers import forms
from payments.customers.render import ADDRESS_FIELDS

_FIELDS: Schemas = {
    "email": nullable(text("An e-mail address.")),
    "name": nullable(text("A name.")),
    "phone": nullable(text("A telephone number, as you gave it.")),
    "description": nullable(text("Your own words.")),
    "address": nullable(ref("Address")),
    "shipping": nullable(
        schema.record(
            "Where parcels go.",
            {
                "name": nullable(text("To whom.")),
                "phone": nullable(text("Whom to call.")),
                "address": nullable(ref("Address")),
            },
        )
    ),
    "default_currency": nullable(schema.CURRENCY),
    "preferred_locales": schema.array({"type": "string"}, "Languages, the most preferred first."),
    "metadata": schema.METADATA,
}
_DELETED = {"const": True, "description": "It was deleted."}

SCHEMAS: Schemas = {
    "Address": schema.record(
        "An address.", {name: nullable({"type": "string"}) for name in ADDRESS_FIELDS}
    ),
    "Customer": schema.resource("customer", "cus", "Someone who pays you.", _FIELDS),
    "DeletedCustomer": schema.record(
        "What is left of a customer.",
        {"id": identifier("cus"), "object": {"const": "customer"}, "deleted": _DELETED},
    ),
    "CustomerAtDeletion": schema.resource(
        "customer",
        "cus",
        "A customer as it was when it was deleted: only its event tells.",
        {**_FIELDS, "deleted": _DELETED},
    ),
}
_ANY = {"anyOf": [ref("Customer"), ref("DeletedCustomer")]}

CUSTOMERS = {
    "list": Operation("List customers", schema.list_of(ref("Customer"))),
    "create": Operation("Create a customer", ref("Customer"), forms.CreateCustomerForm),
    "retrieve": Operation(
        "Read a customer", _ANY, description="Of a deleted one, that it was deleted."
    ),
    "update": Operation(
        "Change a customer",
        _ANY,
        forms.UpdateCustomerForm,
        description="What you do not give stays as it is; null clears.",
    ),
    "destroy": Operation("Delete a customer", ref("DeletedCustomer")),
}
