"""The rooms of the service."""

from config.settings.installation import LIVEMODE

INSTALLED_APPS = [
    "panel.operators.apps.OperatorsConfig",  # Django's admin
    "api",  # before Django's rooms, some of whose commands it replaces
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
    "vault",
    "acquirers",
    "acquirers.notices",
    "acquirers.transfers",
    # In the spec's order of event types, which is that of docs/reference/states.md too: their apps
    # register.
    "payments.risk",
    "payments.intents",
    "payments.charging",
    "payments.installments",
    "payments.refunds",
    "payments.disputes",
    "payments.search",
    "payouts",
    "payouts.topups",
    "payouts.statements",
    "ledger",
    "cases",
    "merchants",
    "payments.customers",
    # Its event types stand beside the spec's.
    "payments.checkout",
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
