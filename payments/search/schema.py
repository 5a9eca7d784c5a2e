"""The description of search in the API's schema."""

from core.errors import ParameterMissing
from core.rest import schema
from core.rest.schema import Operation, ref

SEARCH = {
    "list": Operation(
        "Search",
        schema.list_of(
            "SearchResultList", ref("PaymentIntent"), ref("Customer"), ref("Refund"), ref("Dispute")
        ),
        description=(
            "By an id, an exact e-mail address or the start of a payment's description; newest "
            "first. A key finds only objects that it may read."
        ),
        needs=("q",),
        refuses=(ParameterMissing,),
    )
}
