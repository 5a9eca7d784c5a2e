"""Evidence: the texts by which a merchant answers a dispute (contract-money, Dispute)."""

from collections.abc import Mapping

from core.errors import ParameterInvalid

KEYS = (
    "product_description", "customer_name", "customer_email_address", "customer_purchase_ip",
    "billing_address", "shipping_address", "shipping_carrier", "shipping_date",
    "shipping_tracking_number", "service_date", "refund_policy", "cancellation_policy",
    "access_activity_log", "uncategorized_text",
)  # fmt: skip
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
