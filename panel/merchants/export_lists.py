"""The lists that can be exported: each with its rows, its filters and its columns."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.querysets import MerchantRows
from core.rest.lists import ListSpec
from events.models import Event
from ledger import transactions
from ledger.filters import TRANSACTIONS
from merchants.filters import AUDIT_LOG, REQUEST_LOGS
from merchants.models import Merchant, RequestLog
from panel.merchants import audit_log, export_columns
from panel.merchants.audit_log import AuditForm
from panel.merchants.customer_forms import CustomerListForm
from panel.merchants.events import EventForm
from panel.merchants.export_columns import Cells
from panel.merchants.log_filters import LogForm
from panel.merchants.money_filters import (
    DisputeForm,
    MovementForm,
    PaymentForm,
    PayoutForm,
    RefundForm,
    TopupForm,
)
from panel.merchants.request_logs import BODIES
from payments.customers.models import Customer
from payments.customers.resource import CUSTOMERS
from payments.disputes import render as dispute_render
from payments.disputes.resource import DISPUTES
from payments.intents.filters import PAYMENTS
from payments.intents.models import PaymentIntent
from payments.refunds.models import Refund
from payments.refunds.resource import REFUNDS
from payouts.models import Payout
from payouts.resource import PAYOUTS
from payouts.topups.models import Topup
from payouts.topups.resource import TOPUPS
from webhooks.filters import EVENTS


class Exported(NamedTuple):
    """A list that can be exported.

    :param page: the name of the list's own address, and the file's.
    :param form: the filters, for their labels.
    :param columns: the header; `cells` returns as many for each row.
    """

    page: str
    label: str | Promise
    rows: Callable[[Merchant], MerchantRows]
    spec: ListSpec
    form: Callable[..., Any]
    columns: Sequence[str]
    cells: Cells


def _logs(merchant: Merchant) -> MerchantRows:
    return RequestLog.objects.for_merchant(merchant).defer(*BODIES)


def _customers(merchant: Merchant) -> MerchantRows:
    return Customer.objects.for_merchant(merchant).existing()


# By the name of the list's address.
LISTS = {
    one.page: one
    for one in (
        Exported(
            "payments", _("Payments"), PaymentIntent.objects.for_merchant, PAYMENTS, PaymentForm,
            export_columns.PAYMENTS, export_columns.payments,
        ),
        Exported(
            "refunds", _("Refunds"), Refund.objects.for_merchant, REFUNDS, RefundForm,
            export_columns.REFUNDS, export_columns.refunds,
        ),
        Exported(
            "disputes", _("Disputes"), dispute_render.DISPUTES.for_merchant, DISPUTES, DisputeForm,
            export_columns.DISPUTES, export_columns.disputes,
        ),
        Exported(
            "payouts", _("Payouts"), Payout.objects.for_merchant, PAYOUTS, PayoutForm,
            export_columns.PAYOUTS, export_columns.payouts,
        ),
        Exported(
            "topups", _("Top-ups"), Topup.objects.for_merchant, TOPUPS, TopupForm,
            export_columns.TOPUPS, export_columns.topups,
        ),
        Exported(
            "movements", _("Movements"), transactions.of_merchant, TRANSACTIONS, MovementForm,
            export_columns.MOVEMENTS, export_columns.movements,
        ),
        Exported(
            "customers", _("Customers"), _customers, CUSTOMERS, CustomerListForm,
            export_columns.CUSTOMERS, export_columns.customers,
        ),
        Exported(
            "request_logs", _("Request logs"), _logs, REQUEST_LOGS, LogForm,
            export_columns.REQUEST_LOGS, export_columns.logs,
        ),
        Exported(
            "events", _("Events"), Event.objects.for_merchant, EVENTS, EventForm,
            export_columns.EVENTS, export_columns.events,
        ),
        Exported(
            "audit_log", _("Audit log"), audit_log.rows_of, AUDIT_LOG, AuditForm,
            export_columns.AUDIT_LOG, export_columns.audit_entries,
        ),
    )
}  # fmt: skip
