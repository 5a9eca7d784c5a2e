"""The event types that there are (spec: Event types): no other is recorded or subscribed to."""

TYPES = (
    "payment_intent.created",
    "payment_intent.requires_action",
    "payment_intent.processing",
    "payment_intent.amount_capturable_updated",
    "payment_intent.succeeded",
    "payment_intent.payment_failed",
    "payment_intent.canceled",
    "payment_intent.fraud_updated",
    "refund.created",
    "refund.updated",
    "refund.succeeded",
    "refund.failed",
    "dispute.created",
    "dispute.updated",
    "dispute.closed",
    "payout.created",
    "payout.paid",
    "payout.failed",
    "topup.succeeded",
    "topup.updated",
    "balance.available",
    "balance.negative_limit_exceeded",
    "merchant.updated",
    "customer.created",
    "customer.updated",
    "customer.deleted",
)
# What an endpoint subscribes to in their place to get all of them, later ones too.
ALL = "*"
