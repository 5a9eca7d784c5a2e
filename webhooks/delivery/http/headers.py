"""The headers of a delivery (spec: Webhook delivery)."""

FIXED = {
    "Content-Type": "application/json; charset=utf-8",
    "User-Agent": "PF-Webhooks/1.0",
    "Accept-Encoding": "identity",
}


def of(event_id: str, delivery_id: str, *, signature: str) -> dict[str, str]:
    """Return the headers of one delivery.

    :param signature: the value of `PF-Signature`.
    """
    return {
        **FIXED,
        "PF-Event-Id": event_id,
        "PF-Delivery-Id": delivery_id,
        "PF-Signature": signature,
    }
