"""The description of customers in the API's schema."""

from core.rest import schema
from core.rest.components import named
from core.rest.schema import Operation, Schemas, identifier, nullable, ref, text
from payments.customers import forms
from payments.customers.render import ADDRESS_FIELDS

_FIELDS: Schemas = {
    "email": nullable(text("The e-mail address, as you gave it; null if there is none.")),
    "name": nullable(text("The name; null if there is none.")),
    "phone": nullable(text("The telephone number, as you gave it; null if there is none.")),
    "description": nullable(text("Your own description; null if there is none.")),
    "address": nullable({**ref("Address"), "description": "The address; null if there is none."}),
    "shipping": nullable(
        named(
            "CustomerShipping",
            schema.record(
                "Where parcels go.",
                {
                    "name": nullable(text("The receiver's name.")),
                    "phone": nullable(text("The receiver's telephone number.")),
                    "address": nullable({**ref("Address"), "description": "The address."}),
                },
            ),
            "Where parcels go; null if there is none.",
        )
    ),
    "default_currency": nullable(
        {**schema.CURRENCY, "description": "The usual currency, in lower case; null if not given."}
    ),
    "preferred_locales": schema.array(
        {"type": "string"}, "Languages, the most preferred first, such as `tr-TR`."
    ),
    "metadata": schema.METADATA,
}
_DELETED = {"const": True, "description": "Always true: it was deleted."}

SCHEMAS: Schemas = {
    "Address": schema.record(
        "A postal address.",
        {
            name: nullable(text(f"{forms.PARTS[name]} Null if not given."))
            for name in ADDRESS_FIELDS
        },
    ),
    "Customer": schema.resource("customer", "cus", "A person or company that pays you.", _FIELDS),
    "DeletedCustomer": schema.record(
        "What is left of a customer.",
        {
            "id": identifier("cus", "The id of the deleted customer."),
            "object": schema.kind("customer"),
            "deleted": _DELETED,
        },
    ),
    "CustomerAtDeletion": schema.resource(
        "customer",
        "cus",
        "A customer as it was when it was deleted: only its event tells.",
        {**_FIELDS, "deleted": _DELETED},
    ),
}
_ANY = named(
    "CustomerOrDeleted",
    {
        "description": "A customer; of a deleted one, only that it was deleted.",
        "anyOf": [ref("Customer"), ref("DeletedCustomer")],
    },
)

CUSTOMERS = {
    "list": Operation(
        "List customers",
        schema.list_of("CustomerList", ref("Customer")),
        description="Your customers, the newest first unless `sort` says otherwise.",
    ),
    "create": Operation(
        "Create a customer",
        ref("Customer"),
        forms.CreateCustomerForm,
        description="Every field may be absent. Two customers may have the same e-mail address.",
    ),
    "retrieve": Operation(
        "Read a customer",
        _ANY,
        description="The customer as it is now; of a deleted one, only that it was deleted.",
    ),
    "update": Operation(
        "Change a customer",
        _ANY,
        forms.UpdateCustomerForm,
        description="What you do not give stays as it is; null clears.",
    ),
    "destroy": Operation(
        "Delete a customer",
        ref("DeletedCustomer"),
        description="It cannot be undone. The customer's payments stay.",
    ),
}
