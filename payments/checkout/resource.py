"""Checkout sessions as a resource."""

from core.rest.expansion import ObjectKind, Reference
from core.rest.filters import EXACT, RANGE, Filters, ObjectIdFilter, of_the_merchant
from core.rest.lists import ListSpec
from core.rest.resources import Resource
from events.types import Aggregate, Meaning
from payments.checkout import render, schema, states
from payments.checkout.models import CheckoutSession
from payments.customers.models import Customer
from payments.intents.models import PaymentIntent

# That of the payment behind the session.
SCOPE = "payment_intents"

RESOURCE = Resource(
    path="checkout",
    scope=SCOPE,
    tag=("Checkout", "Send a payer to a page of the service's own, which takes the card."),
    schemas=schema.SCHEMAS,
    kinds={
        render.NAME: ObjectKind(
            prefix="cs",
            rows=CheckoutSession.objects.select_related("intent"),
            show=render.session,
            scope=SCOPE,
            fields={
                "payment_intent": Reference("payment_intent"),
                "customer": Reference("customer"),
                "line_items": Reference("line_item", is_array=True),
            },
        ),
    },
)


AGGREGATE = Aggregate(
    render.NAME,
    (states.COMPLETED, states.EXPIRED),
    scope=SCOPE,
    schemas=("CheckoutSession",),
    meanings={
        states.COMPLETED: Meaning(
            cause=(
                "The session's payment is `succeeded` or `requires_capture`. It is recorded after "
                "the payment's own event. Ship the order if `payment_status` is `paid`."
            ),
            previous=(
                "`status`, `url` and `customer_details`; also `payment_status` and `surcharge` if "
                "they changed."
            ),
        ),
        states.EXPIRED: Meaning(
            cause=(
                "The session has ended without a payment: `expiration_reason` says why. A payment "
                "that the session made was canceled first."
            ),
            previous="`status`, `url` and `expiration_reason`.",
        ),
    },
    is_of_spec=False,
)


class SessionFilters(Filters):
    parameters = {**Filters.parameters, "intent": "payment_intent"}
    meanings = {
        "payment_intent": "The id of the payment.",
        "status": "Where the session stands.",
        "customer": "The id of the customer.",
    }
    choices = {"status": render.STATUS}

    payment_intent = ObjectIdFilter(
        "intent", method=of_the_merchant(PaymentIntent.objects.all(), "payment_intent")
    )
    customer = ObjectIdFilter(method=of_the_merchant(Customer.objects.existing(), "customer"))

    class Meta(Filters.Meta):
        model = CheckoutSession
        fields = {"intent": EXACT, "status": ["in"], "customer": EXACT, "created_at": RANGE}


SESSIONS = ListSpec(filters=SessionFilters)


class LineFilters(Filters):
    """None: a payment has few lines."""


# By their place: all of them were created with their payment.
LINES = ListSpec(filters=LineFilters, sort_keys={"created": "position"}, default_sort="created")
