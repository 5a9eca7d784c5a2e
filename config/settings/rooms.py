"""The rooms of the service, and what they declare for others to find."""

from config.settings.installation import LIVEMODE

INSTALLED_APPS = [
    "panel.operators.apps.OperatorsConfig",  # Django's admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",  # indexes with an operator class of their own
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "template_partials.apps.SimpleAppConfig",
    "core",
    "events",
    "merchants",
    "vault",
    "ledger",
    "cases",
    "acquirers",
    "acquirers.notices",
    "acquirers.transfers",
    "payments.customers",
    "payments.risk",
    "payments.installments",
    "payments.intents",
    "payments.charging",
    "payments.refunds",
    "payments.disputes",
    "payouts",
    "payouts.topups",
    "webhooks",
    "audit",
    "audit.reconciliation",
    "audit.daily",
    "panel",
    "panel.account.apps.SignInConfig",
    "panel.operators.apps.DeskConfig",
    "config",  # its commands
    *([] if LIVEMODE else ["testbank"]),
]
# Called in the transaction of every change, with the event (architecture: events).
EVENT_SUBSCRIBERS = ["webhooks.dispatch.plan"]
# The tables of statuses: which changes there are, and the event of each.
TRANSITIONS = [
    "payments.intents.states.PAYMENTS",
    "payments.intents.states.ATTEMPTS",
    "payments.intents.states.MODIFICATIONS",
    "payments.refunds.states.REFUNDS",
    "payments.disputes.states.DISPUTES",
    "payments.disputes.states.DELIVERIES",
    "payouts.states.PAYOUTS",
    "payouts.topups.states.TOPUPS",
    "payouts.topups.states.ARRIVALS",
    "cases.states.CASES",
    "merchants.states.MERCHANTS",
]
# The objects that events are about, in the spec's order of event types.
AGGREGATES = [
    "payments.intents.events.AGGREGATE",
    "payments.refunds.events.AGGREGATE",
    "payments.disputes.events.AGGREGATE",
    "payouts.events.PAYOUTS",
    "payouts.topups.events.TOPUPS",
    "ledger.events.AGGREGATE",
    "merchants.events.AGGREGATE",
    "payments.customers.events.AGGREGATE",
]
# The things of a merchant that `accounts.change` may change.
MERCHANT_TERMS = [
    "merchants.terms.TERMS",
    "ledger.merchant_terms.TERMS",
    "payments.intents.merchant_terms.TERMS",
]
# The resources of the API, in the order of its document.
RESOURCES = [
    "payments.intents.resource.RESOURCE",
    "payments.installments.resource.RESOURCE",
    "payments.refunds.resource.RESOURCE",
    "payments.customers.resource.RESOURCE",
    "payments.disputes.resource.RESOURCE",
    "payments.search.resource.RESOURCE",
    "payouts.resource.PAYOUTS",
    "payouts.topups.resource.TOPUPS",
    "ledger.resource.BALANCE",
    "ledger.resource.TRANSACTIONS",
    "merchants.resource.ACCOUNT",
    "webhooks.resource.ENDPOINTS",
    "webhooks.resource.EVENTS",
    "merchants.resource.REQUEST_LOGS",
]
# Found by the statement that finds the key of an API request: SQL of one value, by its name.
FOUND_WITH_KEY = {
    "terminal": "acquirers.found_with_key.TERMINAL",
    "risk": "payments.risk.found_with_key.STANDING",
    "bins": "payments.installments.found_with_key.VERSION",
    "sites": "merchants.found_with_key.SITES",
    "non_secure_limits": "merchants.found_with_key.NON_SECURE_LIMITS",
}
# The kinds of rows that the sweeper asks banks about, each with the rows that one process asks
# about at once: so a silent bank costs one time-out and not one for each row, and rows of one kind
# delay no other kind.
IN_DOUBT = {
    "payments.bank.attempts.KIND": 8,
    "payments.bank.modifications.KIND": 4,
    "payments.refunds.asking.KIND": 4,
    "payments.disputes.deliveries.KIND": 2,
    "payouts.sending.KIND": 4,
}
# The functions that apply what banks tell on their own, by the notice's kind. A kind without one
# is kept until there is one.
NOTICE_HANDLERS = {
    "dispute_opened": "payments.disputes.notices.dispute_opened",
    "inquiry_opened": "payments.disputes.notices.inquiry_opened",
    "dispute_escalated": "payments.disputes.notices.dispute_escalated",
    "dispute_won": "payments.disputes.notices.dispute_won",
    "dispute_lost": "payments.disputes.notices.dispute_lost",
    "dispute_regained": "payments.disputes.notices.dispute_won",
    "inquiry_closed": "payments.disputes.notices.inquiry_closed",
    "refund_bounced": "payments.refunds.notices.refund_bounced",
    "fraud_warning": "payments.charging.fraud_updates.warned",
}
# The functions that apply what the bank that pays out tells on its own.
TRANSFER_NOTICE_HANDLERS = {
    "transfer_paid": "payouts.notices.paid",
    "transfer_failed": "payouts.notices.failed",
    "transfer_returned": "payouts.notices.failed",
    "transfer_received": "payouts.topups.notices.received",
    "transfer_refused": "payouts.topups.notices.refused",
    "transfer_reversed": "payouts.topups.notices.reversed_",
}
# Functions that say how much available money others wait for: payouts by schedule leave it.
EARMARKS = ["payments.refunds.waiting.needed"]
