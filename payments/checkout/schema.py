"""The description of checkout sessions in the API's schema."""

from core.errors import ResourceMissing
from core.rest import schema
from core.rest.list_query import ParametersExclusive
from core.rest.schema import Operation, Schemas, ref
from merchants.accounts import MerchantRestricted
from merchants.sites import ReturnUrlNotAllowed
from payments.checkout import forms, refusals, render
from payments.intents.refusals import IntentUnexpectedState

_LINES = {
    **schema.list_of("LineItemList", ref("LineItem")),
    "description": "The payment's first 100 lines. Absent unless it is expanded.",
}


def _with_lines() -> Schemas:
    shown = render.session.schema
    return {**shown, "properties": {**shown["properties"], "line_items": _LINES}}


SCHEMAS: Schemas = {"CheckoutSession": _with_lines()}

SESSIONS = {
    "list": Operation(
        "List checkout sessions",
        schema.list_of("CheckoutSessionList", ref("CheckoutSession")),
        description="Your sessions, the newest first unless `sort` says otherwise.",
    ),
    "create": Operation(
        "Create a checkout session",
        ref("CheckoutSession"),
        forms.CreateSessionForm,
        description=(
            "For a payment that waits for a card (`payment_intent`), or for one that is made with "
            "the session: of `line_items`, or of an `amount` with its `currency`. Exactly one of "
            "the three."
        ),
        refuses=(
            MerchantRestricted, ReturnUrlNotAllowed, ParametersExclusive, ResourceMissing,
            IntentUnexpectedState, refusals.SessionUnexpectedState,
        ),
    ),
    "retrieve": Operation(
        "Read a checkout session",
        ref("CheckoutSession"),
        description="The session as it is now.",
    ),
    "update": Operation(
        "Change a checkout session", ref("CheckoutSession"), forms.UpdateSessionForm,
        description="The metadata.",
    ),
    "expire": Operation(
        "End a checkout session",
        ref("CheckoutSession"),
        forms.ExpireSessionForm,
        description=(
            "Only while it is `open` and no attempt of its payment is. A payment that the session "
            "made is canceled with it."
        ),
        refuses=(refusals.SessionUnexpectedState,),
    ),
    "line_items": Operation(
        "List a checkout session's lines",
        schema.list_of("LineItemList", ref("LineItem")),
        description="The lines of the session's payment, in your order.",
    ),
}  # fmt: skip
