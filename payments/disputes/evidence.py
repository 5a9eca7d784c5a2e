"""Evidence: the texts by which a merchant answers a dispute (contract-money, Dispute)."""

from collections.abc import Mapping

from core.errors import ParameterInvalid

MEANINGS = {
    "product_description": "What you sold.",
    "customer_name": "The customer's name.",
    "customer_email_address": "The customer's e-mail address.",
    "customer_purchase_ip": "The IP address that the customer bought from.",
    "billing_address": "The customer's billing address.",
    "shipping_address": "The address that you shipped to.",
    "shipping_carrier": "The carrier that delivered the product.",
    "shipping_date": "The date on which you shipped the product.",
    "shipping_tracking_number": "The carrier's tracking number.",
    "service_date": "The date on which you gave the service.",
    "refund_policy": "Your refund policy, as the customer saw it.",
    "cancellation_policy": "Your cancellation policy, as the customer saw it.",
    "access_activity_log": "A log that shows how the customer used the product.",
    "uncategorized_text": "Anything else that proves your side.",
}
KEYS = tuple(MEANINGS)
LONGEST = 20_000  # Characters of all texts together.


def merged(stored: Mapping[str, str], given: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the evidence after a change: an empty text clears its key, null alone clears all.

    :raises ParameterInvalid: more than 20,000 characters would remain.
    """
    if given is None:
        return {}
    kept = {key: text for key, text in {**stored, **given}.items() if text}
    if sum(map(len, kept.values())) > LONGEST:
        message = f"All texts together have up to {LONGEST} characters."
        raise ParameterInvalid(message, param="evidence")
    return kept
