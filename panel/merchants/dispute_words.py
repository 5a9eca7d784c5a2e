"""Labels of disputes: reasons, the bank's question, and the evidence that helps."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from payments.disputes.states import Reason

# By the API's values. Of Any: the stubs of forms name a kind of lazy text that it does not have.
REASONS: dict[str, Any] = {
    Reason.FRAUDULENT.value: _("The cardholder did not make the payment"),
    Reason.PRODUCT_NOT_RECEIVED.value: _("Nothing was delivered"),
    Reason.PRODUCT_UNACCEPTABLE.value: _("Not as described, or broken"),
    Reason.DUPLICATE.value: _("Paid twice"),
    Reason.CREDIT_NOT_PROCESSED.value: _("A promised refund did not come"),
    Reason.SUBSCRIPTION_CANCELED.value: _("Charged after the subscription had ended"),
    Reason.UNRECOGNIZED.value: _("The cardholder does not recognise the payment"),
    Reason.GENERAL.value: _("Another reason"),
}
# Questions that a reason asks, and the evidence that answers them, the most useful first.
HELPS: dict[str, tuple[Any, tuple[str, ...]]] = {
    Reason.FRAUDULENT.value: (
        _("Show that the cardholder bought it: an account, a delivery to their address, earlier"
          " orders."),
        ("customer_name", "customer_email_address", "customer_purchase_ip", "access_activity_log",
         "shipping_address", "billing_address"),
    ),
    Reason.PRODUCT_NOT_RECEIVED.value: (
        _("Show that it was delivered, when, and where to."),
        ("shipping_carrier", "shipping_tracking_number", "shipping_date", "shipping_address",
         "service_date"),
    ),
    Reason.PRODUCT_UNACCEPTABLE.value: (
        _("Show what was sold and how it was described, and what you offered since."),
        ("product_description", "refund_policy", "uncategorized_text"),
    ),
    Reason.DUPLICATE.value: (
        _("Show that the two payments were for two things."),
        ("product_description", "uncategorized_text"),
    ),
    Reason.CREDIT_NOT_PROCESSED.value: (
        _("Show that no refund was due, or that it was made."),
        ("refund_policy", "cancellation_policy", "uncategorized_text"),
    ),
    Reason.SUBSCRIPTION_CANCELED.value: (
        _("Show when it was canceled, and what was agreed about the end."),
        ("cancellation_policy", "access_activity_log", "service_date"),
    ),
    Reason.UNRECOGNIZED.value: (
        _("Show what was sold, to whom, and by which name the cardholder knows you."),
        ("product_description", "customer_name", "customer_email_address"),
    ),
    Reason.GENERAL.value: (
        _("Tell what was sold, how it was delivered, and what the customer said."),
        ("product_description", "uncategorized_text"),
    ),
}  # fmt: skip
EVIDENCE: dict[str, Any] = {
    "product_description": _("What was sold"),
    "customer_name": _("Name of the customer"),
    "customer_email_address": _("E-mail of the customer"),
    "customer_purchase_ip": _("Internet address of the purchase"),
    "billing_address": _("Billing address"),
    "shipping_address": _("Delivery address"),
    "shipping_carrier": _("Carrier"),
    "shipping_date": _("Day of the dispatch"),
    "shipping_tracking_number": _("Tracking number"),
    "service_date": _("Day of the service"),
    "refund_policy": _("Your rules about refunds"),
    "cancellation_policy": _("Your rules about cancellations"),
    "access_activity_log": _("Log of what the customer did"),
    "uncategorized_text": _("Anything else"),
}
# The meaning of each status, and the one who is to act.
STANDINGS: dict[str, Any] = {
    "needs_response": _("The bank has taken the money back. Your evidence may win it."),
    "under_review": _("The bank has your evidence, and decides."),
    "won": _("The bank decided for you: the money is yours."),
    "lost": _("The cardholder keeps the money."),
    "warning_needs_response": _("The bank asks, and has taken no money. An answer may end it."),
    "warning_under_review": _("The bank has your answer. It has taken no money."),
    "warning_closed": _("The inquiry ended without a chargeback."),
}
# By the API's code, why the room below refused.
REFUSALS: dict[str, Any] = {
    "dispute_unexpected_state": _(
        "The dispute has changed meanwhile, and does not allow this now. Nothing was done."
    ),
    "evidence_past_due": _("The time to answer is over."),
    "parameter_missing": _("There is no evidence yet: write something first."),
    "parameter_invalid": _("All texts together have up to 20,000 characters."),
}
